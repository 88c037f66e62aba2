package rediskey_test

import (
	"regexp"
	"strings"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/shared-contract/pseudonym"
)

// form is the whole of a key: public words, and keyed digests.
var form = regexp.MustCompile(`^weir:1:rate:[a-z0-9-]*:state:\{[A-Za-z0-9_-]{8}\}:[A-Za-z0-9_-]{22}$`)

// state is all that tells one state from another.
type state struct {
	policy   string
	revision int64
	variant  string
	subject  pseudonym.Digest
}

func (s state) key(builder rediskey.Builder, root pseudonym.Digest) string {
	return builder.Family("rate", s.policy, "state", s.revision, s.variant).Key(root, s.subject)
}

// FuzzKey holds that two states have one key only if they are the same, that the
// slot is that of the root alone, and that no subject can be read from a key.
func FuzzKey(f *testing.F) {
	f.Add("edge", int64(1), "fixed-window", []byte("alice"), "edge", int64(11), "fixed-window", []byte("alice"))
	f.Add("edge", int64(11), "window", []byte("1"), "edge1", int64(1), "window", []byte("1"))
	f.Add("a", int64(1), "1fixed", []byte{0}, "a", int64(11), "fixed", []byte{0})
	f.Add("a", int64(1), "", []byte(nil), "a", int64(1), "", []byte{0, 0})
	f.Fuzz(func(t *testing.T, policy string, revision int64, variant string, subject []byte, otherPolicy string, otherRevision int64, otherVariant string, otherSubject []byte) {
		one := state{policyID(policy), revision, variant, digest(subject)}
		other := state{policyID(otherPolicy), otherRevision, otherVariant, digest(otherSubject)}
		builder := rediskey.NewBuilder(secret(t, "0123456789abcdef0123456789abcdef"))

		key, otherKey := one.key(builder, one.subject), other.key(builder, other.subject)
		if (key == otherKey) != (one == other) {
			t.Fatalf("%+v and %+v have the keys %s and %s", one, other, key, otherKey)
		}
		if !form.MatchString(key) {
			t.Fatalf("%s has not the form of a key", key)
		}
		if len(subject) > 7 && strings.Contains(key, string(subject)) && !strings.Contains(one.policy, string(subject)) {
			t.Fatalf("%s shows the subject %q", key, subject)
		}
		if shared := other.key(builder, one.subject); tag(shared) != tag(key) {
			t.Fatalf("the keys %s and %s of one root have two tags", key, shared)
		}
		stranger := rediskey.NewBuilder(secret(t, "another secret of the same length"))
		if elsewhere := one.key(stranger, one.subject); elsewhere == key || tag(elsewhere) == tag(key) {
			t.Fatalf("two secrets give %s", key)
		}
	})
}

// policyID turns text into what the contract lets a policy be called.
func policyID(text string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	id := []byte("p" + text)[:min(len(text)+1, 63)]
	for i := range id {
		id[i] = letters[int(id[i])%len(letters)]
	}
	return string(id)
}

// digest fills a digest with up to as many bytes as it has.
func digest(raw []byte) (d pseudonym.Digest) {
	copy(d[:], raw)
	return d
}

func secret(t *testing.T, text string) pseudonym.Secret {
	t.Helper()
	s, err := pseudonym.NewSecret([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tag is what a cluster computes the slot of a key from.
func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	inside, _, _ := strings.Cut(rest, "}")
	return inside
}

package pseudonym_test

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"example.com/weir/shared-contract/pseudonym"
)

const material = "0123456789abcdef0123456789abcdef"

func secret(t testing.TB) pseudonym.Secret {
	t.Helper()
	s, err := pseudonym.NewSecret([]byte(material))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ensure that a secret has its least length, is copied, and never shows itself.
func TestSecret(t *testing.T) {
	if _, err := pseudonym.NewSecret([]byte(material[1:])); err == nil {
		t.Error("31 bytes were accepted")
	}
	bytes := []byte(material)
	s, err := pseudonym.NewSecret(bytes)
	if err != nil {
		t.Fatal(err)
	}
	bytes[0] = 'x'
	if s.SubjectKey().Sum("a") != secret(t).SubjectKey().Sum("a") {
		t.Error("the secret changed with the caller's bytes")
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "secret", s)
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%#v %+v %s", s, s, s), log.String()} {
		if strings.Contains(text, material[1:8]) || strings.Contains(text, "49 50") {
			t.Errorf("%q shows the secret", text)
		}
	}
}

// Ensure that digests never change: processes of different builds share a store,
// and a change would give every subject its whole quota again.
func TestKnownDigests(t *testing.T) {
	for text, want := range map[string]string{
		"ip:192.0.2.1":       "1e7bf843631053605eaf08c78136cedc84def279d77310a324cc8e9bcce7a655",
		"ip:2001:db8::1":     "8045688dc1051c2329e9ee825aa9e9fd617e305257115e6cb3e3378232c7dc4b",
		"header:X-Api-Key:a": "e5b7ae794f9f77ea04f111566b9f72225a52ab58b2be27c952899670b59c8a32",
		"tenant-7":           "8b3554741a77a1b9461b453b9cfd3eb71901907884e46e10ad31c4ef351fc06d",
	} {
		subject, err := pseudonym.ParseSubject(text)
		if err != nil {
			t.Fatal(err)
		}
		digest := subject.Digest(secret(t).SubjectKey())
		if got := hex.EncodeToString(digest[:]); got != want {
			t.Errorf("digest of %q is %s, must be %s", text, got, want)
		}
	}
}

// Ensure that keys of different labels are unrelated, and that every difference
// between tuples makes a difference between digests.
func TestSumIsInjective(t *testing.T) {
	s := secret(t)
	tuples := [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"a", "bc"}, {"ab", "c"}, {"abc"},
		{"\x00"}, {"a\x00b"}, {strings.Repeat("a", 1000)},
	}
	seen := make(map[pseudonym.Digest]string)
	for _, label := range []string{"one", "two"} {
		key := s.Derive(label)
		for _, tuple := range tuples {
			name := fmt.Sprintf("%s%q", label, tuple)
			digest := key.Sum(tuple...)
			if other, taken := seen[digest]; taken {
				t.Errorf("%s and %s have one digest", name, other)
			}
			seen[digest] = name
			if key.Sum(tuple...) != digest {
				t.Errorf("%s has two digests", name)
			}
		}
	}
}

// Ensure that one key may be used from many goroutines.
func TestSumConcurrentSafe(t *testing.T) {
	key := secret(t).SubjectKey()
	want := key.Sum("a", "b")
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for range 1000 {
				if key.Sum("a", "b") != want {
					t.Error("a digest was disturbed")
					return
				}
				key.Sum(fmt.Sprint(i))
			}
		})
	}
	users.Wait()
}

// Ensure which texts name the same subject, and which never do.
func TestParseSubject(t *testing.T) {
	key := secret(t).SubjectKey()
	parse := func(text string) pseudonym.Subject {
		t.Helper()
		s, err := pseudonym.ParseSubject(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return s
	}
	same := [][2]string{
		{"ip:192.0.2.1", "ip:::ffff:192.0.2.1"},
		{"ip:2001:db8::1", "ip:2001:db8:0:0:ffff::9"},
		{"ip:2001:db8::1", "ip:2001:db8::/64"},
		{"ip:2001:DB8::1", "ip:2001:db8::2"},
		{"ip:fe80::1%eth0", "ip:fe80::1"},
		{"header:x-api-key:a", "header:X-Api-Key:a"},
	}
	for _, pair := range same {
		if parse(pair[0]).Digest(key) != parse(pair[1]).Digest(key) {
			t.Errorf("%q and %q must be one subject", pair[0], pair[1])
		}
	}
	apart := []string{
		"ip:192.0.2.1", "ip:192.0.2.2", "192.0.2.1", "ip:192.0.2.1 ", "ip:192.0.2.0/24", "ip:192.0.2.01", "ip:",
		"ip:2001:db8::1", "ip:2001:db8:0:1::1", "ip:2001:db8::/65",
		"header:X-Api-Key:192.0.2.1", "header:X-Api-Key:ip:192.0.2.1", "header:X-Api-Keys:a", "header:X-Api-Key:a",
		"header:X-Api-Key:A", "header::a", "header:X-Api-Key:", "header:X-Api-Key", "api:192.0.2.1",
		"tenant", "Tenant", "tenant\n", "té", "te\u0301", "\xff", "\x00",
	}
	seen := make(map[pseudonym.Digest]string)
	for _, text := range apart {
		digest := parse(text).Digest(key)
		if other, taken := seen[digest]; taken {
			t.Errorf("%q and %q must be two subjects", text, other)
		}
		seen[digest] = text
	}
	for _, text := range []string{"", strings.Repeat("a", 1025)} {
		if _, err := pseudonym.ParseSubject(text); err == nil || !strings.Contains(err.Error(), "1 to 1024") {
			t.Errorf("%d bytes: error is %v, must name the bound", len(text), err)
		}
	}
	parse(strings.Repeat("a", 1024))
}

// Ensure which subjects are named in one way.
func TestSameKind(t *testing.T) {
	kinds := [][]string{
		{"ip:192.0.2.1", "ip:2001:db8::1", "ip:2001:db8::/64"},
		{"header:X-Api-Key:a", "header:x-api-key:b"},
		{"header:X-User:a", "header:X-User:ip:192.0.2.1"},
		{"tenant", "192.0.2.1", "ip:192.0.2.0/24", "header:X-User"},
	}
	for i, these := range kinds {
		for k, those := range kinds {
			for _, one := range these {
				for _, other := range those {
					a, errA := pseudonym.ParseSubject(one)
					b, errB := pseudonym.ParseSubject(other)
					if got := a.SameKind(b); got != (i == k) || errA != nil || errB != nil {
						t.Errorf("%q and %q are of the same kind: %t (%v, %v)", one, other, got, errA, errB)
					}
				}
			}
		}
	}
}

// Ensure that the constructors agree with the text form, and that a subject in a
// log line gives nobody away.
func TestSubjectConstructors(t *testing.T) {
	key := secret(t).SubjectKey()
	ip, err := pseudonym.IP(netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	header, err := pseudonym.Header("x-api-key", "ip:192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := pseudonym.ParseSubject("ip:192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	if ip != parsed || header == parsed || header.Digest(key) == parsed.Digest(key) {
		t.Error("a header's value passes for an address")
	}
	if text := fmt.Sprintf("%v %s %+v %#v", ip, header, ip, header); strings.Contains(text, "192") {
		t.Errorf("%q gives a subject away", text)
	}
	if _, err := pseudonym.IP(netip.Addr{}); err == nil {
		t.Error("the zero address was accepted")
	}
	if _, err := pseudonym.Header("X", ""); err == nil {
		t.Error("an empty value was accepted")
	}
	if !(pseudonym.Subject{}).Digest(key).IsZero() {
		t.Error("nobody has a digest")
	}
}

func FuzzParseSubject(f *testing.F) {
	for _, seed := range []string{"ip:192.0.2.1", "ip:2001:db8::/64", "header:X-Api-Key:a", "tenant", "", "ip:fe80::1%e"} {
		f.Add(seed)
	}
	key := secret(f).SubjectKey()
	f.Fuzz(func(t *testing.T, text string) {
		subject, err := pseudonym.ParseSubject(text)
		if (err != nil) != (len(text) < 1 || len(text) > pseudonym.MaxSubjectBytes) {
			t.Fatalf("%d bytes: error is %v", len(text), err)
		}
		if err == nil && (subject.IsZero() || subject.Digest(key).IsZero()) {
			t.Fatal("an accepted subject is nobody")
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	key := secret(b).SubjectKey()
	subject, err := pseudonym.ParseSubject("ip:192.0.2.1")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		subject.Digest(key)
	}
}

func ExampleSecret() {
	secret, err := pseudonym.NewSecret([]byte("an example of thirty-two bytes.."))
	if err != nil {
		panic(err)
	}
	subject, err := pseudonym.ParseSubject("ip:2001:db8::1")
	if err != nil {
		panic(err)
	}
	neighbour, err := pseudonym.ParseSubject("ip:2001:db8::2")
	if err != nil {
		panic(err)
	}
	key := secret.SubjectKey()
	fmt.Println(secret, subject)
	fmt.Println(subject.Digest(key) == neighbour.Digest(key))
	// Output:
	// [secret] [ip subject]
	// true
}

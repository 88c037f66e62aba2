// Package pseudonym turns the identity of a subject (an address, an API key, a
// tenant) into a keyed digest that can be stored, compared and passed on
// without revealing it.
//
// A [Secret] comes from the operator. [Secret.Derive] gives one independent
// [Key] per purpose, and [Key.Sum] digests a tuple of parts under it. All
// values are immutable and safe for concurrent use.
package pseudonym

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"log/slog"
	"sync"
)

// MinSecretBytes is the least length of a [Secret]: the output size of SHA-256.
const MinSecretBytes = 32

// DigestBytes is the length of a [Digest].
const DigestBytes = sha256.Size

// Secret is the operator's key material. It never prints itself. The zero
// Secret holds none and must not be derived from.
type Secret struct {
	material []byte
}

// NewSecret copies material, which must hold at least [MinSecretBytes].
func NewSecret(material []byte) (Secret, error) {
	if len(material) < MinSecretBytes {
		return Secret{}, fmt.Errorf("secret has %d bytes, needs at least %d", len(material), MinSecretBytes)
	}
	return Secret{material: append([]byte(nil), material...)}, nil
}

// IsZero reports whether s holds no key material.
func (s Secret) IsZero() bool { return len(s.material) == 0 }

// String hides the key material from fmt.
func (s Secret) String() string { return "[secret]" }

// GoString hides the key material from fmt's %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the key material from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Derive gives the key for one purpose by HKDF with SHA-256 (RFC 5869). Keys
// of different labels tell nothing about each other. It panics on the zero
// Secret, which is a programming error.
func (s Secret) Derive(label string) *Key {
	if s.IsZero() {
		panic("pseudonym: Derive on the zero Secret")
	}
	material, err := hkdf.Key(sha256.New, s.material, nil, label, sha256.Size)
	if err != nil {
		panic(fmt.Sprintf("pseudonym: cannot derive a %d byte key: %v", sha256.Size, err))
	}
	return &Key{states: sync.Pool{New: func() any {
		return &state{mac: hmac.New(sha256.New, material)}
	}}}
}

// SubjectKey is the key under which inbound adapters digest a [Subject]. All of
// them use this one, so that a subject named at the decision API and the same
// subject seen at the edge share one quota.
func (s Secret) SubjectKey() *Key { return s.Derive("weir/1/subject") }

// Key digests for one purpose.
type Key struct {
	states sync.Pool // of *state; a keyed HMAC is dear to make and cheap to reset
}

type state struct {
	mac    hash.Hash
	length [8]byte
	buffer []byte
	sum    [DigestBytes]byte
}

// Sum is the HMAC with SHA-256 (RFC 2104) of parts. Each part is preceded by
// its length, so no two tuples share an encoding: ("a", "bc") and ("ab", "c")
// have different digests.
func (k *Key) Sum(parts ...string) Digest {
	s := k.states.Get().(*state)
	defer k.states.Put(s)
	s.mac.Reset()
	s.buffer = s.buffer[:0]
	for _, part := range parts {
		binary.BigEndian.PutUint64(s.length[:], uint64(len(part)))
		s.buffer = append(s.buffer, s.length[:]...)
		s.buffer = append(s.buffer, part...)
	}
	s.mac.Write(s.buffer)
	return Digest(s.mac.Sum(s.sum[:0]))
}

// Digest stands in for a subject. Digests are comparable; the zero Digest is
// that of no subject.
type Digest [DigestBytes]byte

// IsZero reports whether d is the digest of no subject.
func (d Digest) IsZero() bool { return d == Digest{} }

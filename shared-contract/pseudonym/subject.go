package pseudonym

import (
	"fmt"
	"net/netip"
	"net/textproto"
)

// MaxSubjectBytes bounds a subject's value.
const MaxSubjectBytes = 1024

// Kinds of [Subject].
const (
	kindIP     = "ip"
	kindHeader = "header"
	kindAPI    = "api"
)

// Subject is who is asking: a tuple of kind, name and value. The three are
// encoded with their lengths before they are digested, so a header whose value
// reads "ip:192.0.2.1" is not that address. Subjects are comparable; the zero
// Subject is nobody.
type Subject struct {
	kind, name, value string
}

// IP is the subject of a network address: an IPv4 address by itself, an IPv6
// address by its /64, which is what one client usually holds. An IPv4-mapped
// IPv6 address is the IPv4 address. The zero Addr is an error. For another width
// than /64 see [Addressing].
func IP(addr netip.Addr) (Subject, error) { return Addressing{}.IP(addr) }

// Header is the subject that the request header name identifies by value. The
// name is canonicalised; the value is taken as it is, 1 to [MaxSubjectBytes]
// bytes.
func Header(name, value string) (Subject, error) {
	if err := checkLength(value); err != nil {
		return Subject{}, err
	}
	return Subject{kind: kindHeader, name: textproto.CanonicalMIMEHeaderKey(name), value: value}, nil
}

// ParseSubject reads the text form that callers of the decision API and
// configuration files use, 1 to [MaxSubjectBytes] bytes:
//
//	ip:192.0.2.1          the subject of IP; an IPv6 address means its /64
//	ip:2001:db8::/64      the same network, written out
//	header:X-Api-Key:abc  the subject of Header("X-Api-Key", "abc")
//	anything else         a subject of its own, by its whole text
//
// For another width than /64 see [Addressing].
func ParseSubject(text string) (Subject, error) { return Addressing{}.ParseSubject(text) }

// String names the kind of s and hides who it is, so that a subject in a log
// line gives nobody away.
func (s Subject) String() string { return "[" + s.kind + " subject]" }

// GoString hides who it is from fmt's %#v.
func (s Subject) GoString() string { return s.String() }

// IsZero reports whether s is nobody.
func (s Subject) IsZero() bool { return s == Subject{} }

// SameKind reports whether s and other are named in one way, whoever they are: both
// by an address, by one header, or by any other text.
func (s Subject) SameKind(other Subject) bool { return s.kind == other.kind && s.name == other.name }

// Digest is the pseudonym of s under key. The zero Subject has the zero Digest.
func (s Subject) Digest(key *Key) Digest {
	if s.IsZero() {
		return Digest{}
	}
	return key.Sum(s.kind, s.name, s.value)
}

func checkLength(text string) error {
	if len(text) < 1 || len(text) > MaxSubjectBytes {
		return fmt.Errorf("subject has %d bytes, must have 1 to %d", len(text), MaxSubjectBytes)
	}
	return nil
}

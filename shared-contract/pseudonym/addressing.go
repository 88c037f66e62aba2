package pseudonym

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Bounds of [Addressing.IPv6Bits].
const (
	MinIPv6Bits = 32
	MaxIPv6Bits = 128
	// DefaultIPv6Bits is what one client usually holds.
	DefaultIPv6Bits = 64
)

// Addressing says what counts as one client by its network address. The zero
// Addressing is that of [IP] and [ParseSubject]. All that name subjects of one
// store must use the same, or one client has several quotas.
type Addressing struct {
	// IPv6Bits is the width of the IPv6 prefix that counts as one client:
	// [MinIPv6Bits] to [MaxIPv6Bits]. Zero means [DefaultIPv6Bits].
	IPv6Bits int
}

// Check returns an error that names the bounds unless a is usable.
func (a Addressing) Check() error {
	if bits := a.bits(); bits < MinIPv6Bits || bits > MaxIPv6Bits {
		return fmt.Errorf("is %d, must be %d to %d", bits, MinIPv6Bits, MaxIPv6Bits)
	}
	return nil
}

func (a Addressing) bits() int {
	if a.IPv6Bits == 0 {
		return DefaultIPv6Bits
	}
	return a.IPv6Bits
}

// IP is the subject of a network address: an IPv4 address by itself, an IPv6
// address by its prefix. An IPv4-mapped IPv6 address is the IPv4 address. The
// zero Addr is an error, and so is an Addressing that Check refuses.
func (a Addressing) IP(addr netip.Addr) (Subject, error) {
	if !addr.IsValid() {
		return Subject{}, errors.New("not an IP address")
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return Subject{kind: kindIP, value: addr.String()}, nil
	}
	if err := a.Check(); err != nil {
		return Subject{}, fmt.Errorf("width of an IPv6 prefix: %w", err)
	}
	return ipNetwork(netip.PrefixFrom(addr, a.bits())), nil
}

// ParseSubject reads the text form of [ParseSubject]. An IPv6 address means its
// prefix of the width of a, and a prefix is written out with that width.
func (a Addressing) ParseSubject(text string) (Subject, error) {
	if err := checkLength(text); err != nil {
		return Subject{}, err
	}
	if rest, ok := strings.CutPrefix(text, "ip:"); ok {
		if addr, err := netip.ParseAddr(rest); err == nil {
			return a.IP(addr)
		}
		if prefix, err := netip.ParsePrefix(rest); err == nil && a.counts(prefix) {
			return ipNetwork(prefix), nil
		}
	}
	if rest, ok := strings.CutPrefix(text, "header:"); ok {
		if name, value, ok := strings.Cut(rest, ":"); ok && name != "" && value != "" {
			return Header(name, value)
		}
	}
	return Subject{kind: kindAPI, value: text}, nil
}

// counts reports whether prefix is one client. IPv4-mapped addresses are IPv4,
// so no client has a prefix of them.
func (a Addressing) counts(prefix netip.Prefix) bool {
	network := prefix.Masked().Addr()
	return prefix.Bits() == a.bits() && network.Is6() && !network.Is4In6()
}

func ipNetwork(prefix netip.Prefix) Subject {
	return Subject{kind: kindIP, value: prefix.Masked().String()}
}

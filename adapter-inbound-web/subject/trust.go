package subject

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"example.com/weir/shared-contract/ratelimit"
)

// trust holds the networks of trusted proxies, in canonical form.
type trust []netip.Prefix

// includes reports whether addr, which is canonical, is a trusted proxy.
func (t trust) includes(addr netip.Addr) bool {
	for _, prefix := range t {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// includesEveryone reports whether all addresses of a family are trusted.
func (t trust) includesEveryone() bool {
	for _, prefix := range t {
		if prefix.Bits() == 0 {
			return true
		}
	}
	return false
}

// ParseTrustedProxies reads addresses ("192.0.2.7", "2001:db8::7") and CIDR
// prefixes ("10.0.0.0/8"). The bits after a prefix's length do not matter, and
// IPv4-mapped IPv6 means IPv4. The error is the [ratelimit.Faults] of all
// entries that cannot be read, each with the field "trusted-proxies[i]".
func ParseTrustedProxies(texts []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(texts))
	var faults ratelimit.Faults
	for i, text := range texts {
		prefix, err := parsePrefix(strings.TrimSpace(text))
		if err != nil {
			addTrustFault(&faults, i, err)
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return prefixes, nil
}

func addTrustFault(faults *ratelimit.Faults, i int, err error) {
	faults.Add(fmt.Sprintf("trusted-proxies[%d]", i), "%v", err)
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("is %q, must be an address or a CIDR prefix", text)
		}
		return canonicalPrefix(prefix)
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("is %q, must be an address or a CIDR prefix", text)
	}
	if addr.Zone() != "" {
		// Peers are compared without their zone, so this would trust the
		// address on every link.
		return netip.Prefix{}, fmt.Errorf("is %q, must have no zone", text)
	}
	return canonicalPrefix(netip.PrefixFrom(addr, addr.BitLen()))
}

// mappedBits is the length of ::ffff:0:0/96, which holds IPv4-mapped addresses.
const mappedBits = 96

// canonicalPrefix gives prefix the form in which addresses are compared.
func canonicalPrefix(prefix netip.Prefix) (netip.Prefix, error) {
	if !prefix.IsValid() {
		return netip.Prefix{}, errors.New("is no valid prefix")
	}
	if !prefix.Addr().Is4In6() {
		return prefix.Masked(), nil
	}
	if prefix.Bits() < mappedBits {
		return netip.Prefix{}, fmt.Errorf("is %v, which is wider than the IPv4-mapped addresses; name IPv4 and IPv6 separately", prefix)
	}
	return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mappedBits).Masked(), nil
}

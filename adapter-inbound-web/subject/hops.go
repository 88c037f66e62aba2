package subject

import (
	"net/netip"
	"strings"
)

// MaxHops bounds how many hops of a request are examined, so that a long header
// costs no more than a short one.
const MaxHops = 32

// whitespace is what may surround a list member or a field value (RFC 9110,
// section 5.6.3).
const whitespace = " \t"

// parseHop reads an address with or without a port: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". The result
// is canonical: IPv4-mapped IPv6 becomes IPv4, and the zone is dropped, since it
// names a link of the machine that wrote it.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.Trim(text, whitespace)
	bracketed := strings.HasPrefix(text, "[")
	switch {
	case bracketed && strings.HasSuffix(text, "]"):
		addr, err := netip.ParseAddr(text[1 : len(text)-1])
		return canonical(addr), err == nil && addr.Is6()
	case bracketed || strings.Count(text, ":") == 1:
		addrPort, err := netip.ParseAddrPort(text)
		return canonical(addrPort.Addr()), err == nil
	default:
		addr, err := netip.ParseAddr(text)
		return canonical(addr), err == nil
	}
}

func canonical(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

package subject

import (
	"net/netip"
	"strings"
)

// MaxHops bounds how many addresses of X-Forwarded-For are examined, so that a
// long header costs no more than a short one.
const MaxHops = 32

const forwardedFor = "X-Forwarded-For" // canonical

// whitespace is what may surround a list member or a field value (RFC 9110,
// section 5.6.3).
const whitespace = " \t"

// client walks from peer through trusted proxies to the client. lines are the
// X-Forwarded-For headers in the order in which they stand in the request; they
// are one list, though a proxy may have added a line of its own to it.
func (t trust) client(peer netip.Addr, lines []string) netip.Addr {
	client := peer
	for i, examined := len(lines)-1, 0; i >= 0; i-- {
		for rest, more := lines[i], true; more; examined++ {
			if examined == MaxHops || !t.includes(client) {
				return client
			}
			var hop string
			rest, hop, more = cutLast(rest)
			addr, ok := parseHop(hop)
			if !ok {
				return client
			}
			client = addr
		}
	}
	return client
}

// cutLast splits off the last member of a list; more tells whether any is left.
func cutLast(list string) (rest, last string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return "", list, false
	}
	return list[:i], list[i+1:], true
}

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

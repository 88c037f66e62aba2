package subject

import (
	"fmt"
	"net/netip"
	"strings"
)

// Forwarded says in which header trusted proxies name the client.
type Forwarded string

const (
	// XForwardedFor is a list of addresses. It is the default.
	XForwardedFor Forwarded = "x-forwarded-for"
	// StandardForwarded is the header Forwarded (RFC 7239), of which only the
	// parameter for is read.
	StandardForwarded Forwarded = "forwarded"
)

// chain is how the hops of a request are read from the right. The zero chain
// has no header, and so no hops.
type chain struct {
	field   string // canonical
	cutLast func(list string) (rest, last string, more bool)
	parse   func(hop string) (netip.Addr, bool)
}

// chain is that of f. The other header is never looked at: a proxy that writes
// one of them lets its clients write the other.
func (f Forwarded) chain() (chain, error) {
	switch f {
	case "", XForwardedFor:
		return chain{field: "X-Forwarded-For", cutLast: cutLast, parse: parseHop}, nil
	case StandardForwarded:
		return chain{field: "Forwarded", cutLast: cutLastElement, parse: parseElement}, nil
	default:
		return chain{}, fmt.Errorf("is %q, must be %s or %s", string(f), XForwardedFor, StandardForwarded)
	}
}

// client walks from peer through trusted proxies to the client. lines are the
// headers of c in the order in which they stand in the request; they are one
// list, though a proxy may have added a line of its own to it.
func (c chain) client(proxies trust, peer peer, lines []string) netip.Addr {
	client, trusted := peer.addr, peer.trusted
	for i, examined := len(lines)-1, 0; i >= 0; i-- {
		for rest, more := lines[i], true; more; examined++ {
			if examined == MaxHops || !trusted {
				return client
			}
			var hop string
			rest, hop, more = c.cutLast(rest)
			addr, ok := c.parse(hop)
			if !ok {
				return client
			}
			client, trusted = addr, proxies.includes(addr)
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

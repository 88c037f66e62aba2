package subject

import (
	"net/http"
	"net/netip"
)

// peer is the other end of a connection.
type peer struct {
	addr    netip.Addr // canonical
	trusted bool       // a trusted proxy
}

// peer is that of r; false when the connection has no network address.
func (e *Extractor) peer(r *http.Request) (peer, bool) {
	addr, ok := parseHop(r.RemoteAddr)
	return peer{addr: addr, trusted: e.trustsPeers || e.proxies.includes(addr)}, ok
}

// TrustsPeer reports whether r comes from a trusted proxy or from this machine.
func (e *Extractor) TrustsPeer(r *http.Request) bool {
	peer, ok := e.peer(r)
	return ok && (peer.trusted || peer.addr.IsLoopback())
}

// TrustingPeers returns a copy of e to which the peer of every request is a
// trusted proxy. Other hops are so only if they were to e. It is for what a
// proxy asks about somebody else's request, and for nobody but the proxies that
// [Extractor.TrustsPeer] admits.
func (e *Extractor) TrustingPeers() *Extractor {
	trusting := *e
	trusting.trustsPeers = true
	if trusting.hops.cutLast == nil { // the zero Extractor reads no hops
		trusting.hops, _ = XForwardedFor.chain()
	}
	return &trusting
}

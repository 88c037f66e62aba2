package subject

import (
	"net/http"
	"strings"

	"example.com/weir/shared-contract/pseudonym"
)

// Extractor takes subjects from requests. It is immutable and safe for
// concurrent use. [New] and [Fixed] make one; the zero Extractor takes the address
// of the connection's peer.
type Extractor struct {
	proxies    trust
	hops       chain
	addressing pseudonym.Addressing
	header     string        // canonical; empty: the client's address
	reject     *MissingError // nil: the client's address stands in
	// trustsPeers: every peer is a trusted proxy.
	trustsPeers bool
	// fixed is the subject of every request, unless it is nil.
	fixed *pseudonym.Subject
}

// Fixed returns an extractor for which every request has one subject, such as a
// level of limits that everybody shares.
func Fixed(subject pseudonym.Subject) *Extractor { return &Extractor{fixed: &subject} }

// ChosenByClients reports whether a client can choose its subject at will, and
// so escape its limit: the source is a header that is believed from everybody,
// or every address is a trusted proxy. That is worth a warning unless something
// in front of this process sets what is believed.
func (e *Extractor) ChosenByClients() bool {
	return e.header != "" && len(e.proxies) == 0 || e.proxies.includesEveryone()
}

// Extract returns the subject of r, and does not change r. The error is a
// [*MissingError], or [ErrNoAddress].
func (e *Extractor) Extract(r *http.Request) (pseudonym.Subject, error) {
	if e.fixed != nil {
		return *e.fixed, nil
	}
	if e.header == "" {
		return e.clientIP(r)
	}
	if subject, found := e.named(r); found {
		return subject, nil
	}
	if e.reject != nil {
		return pseudonym.Subject{}, e.reject
	}
	return e.clientIP(r)
}

// named is the subject that the configured header identifies.
func (e *Extractor) named(r *http.Request) (pseudonym.Subject, bool) {
	values := r.Header[e.header]
	// Of two values one may be the client's own, and nobody can tell which.
	if len(values) != 1 || !e.believesHeader(r) {
		return pseudonym.Subject{}, false
	}
	subject, err := pseudonym.Header(e.header, strings.Trim(values[0], whitespace))
	return subject, err == nil
}

func (e *Extractor) believesHeader(r *http.Request) bool {
	if len(e.proxies) == 0 {
		return true
	}
	peer, ok := e.peer(r)
	return ok && peer.trusted
}

func (e *Extractor) clientIP(r *http.Request) (pseudonym.Subject, error) {
	peer, ok := e.peer(r)
	if !ok {
		return pseudonym.Subject{}, ErrNoAddress
	}
	return e.addressing.IP(e.hops.client(e.proxies, peer, r.Header[e.hops.field]))
}

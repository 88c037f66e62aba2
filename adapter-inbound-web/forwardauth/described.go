package forwardauth

import (
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// family is one way to describe a request in header fields, which are named in
// the canonical form of net/http.
type family struct {
	method, uri string
	// host is empty where the proxy passes on the client's Host as its own.
	host string
}

var (
	forwarded = family{method: "X-Forwarded-Method", uri: "X-Forwarded-Uri", host: "X-Forwarded-Host"}
	original  = family{method: "X-Original-Method", uri: "X-Original-Uri"}
)

// describes reports whether any of the fields that only f has stands in header,
// even without a value.
func (f family) describes(header http.Header) bool {
	return len(header[f.method]) > 0 || len(header[f.uri]) > 0
}

// described returns the client's request as r describes it: the header fields,
// the context and the peer are those of r. The fault is a sentence about what
// cannot be understood, which repeats nothing of r; it is empty if nothing is.
func described(r *http.Request) (inner *http.Request, fault string) {
	switch isForwarded, isOriginal := forwarded.describes(r.Header), original.describes(r.Header); {
	case isForwarded && isOriginal:
		return nil, "The client's request is described twice, in X-Forwarded-Method or X-Forwarded-Uri and in X-Original-Method or X-Original-URI."
	case isForwarded:
		return forwarded.request(r)
	case isOriginal:
		return original.request(r)
	default:
		return nil, "X-Forwarded-Method and X-Forwarded-Uri, or X-Original-Method and X-Original-URI, must describe the client's request."
	}
}

func (f family) request(r *http.Request) (inner *http.Request, fault string) {
	method, ok := only(r.Header[f.method])
	if !ok || !httpguts.ValidHeaderFieldName(method) { // both are tokens
		return nil, f.method + " must be there once and hold a method."
	}
	uri, ok := only(r.Header[f.uri])
	if !ok || !isOrigin(uri) {
		return nil, f.uri + " must be there once and hold a path, with or without a query."
	}
	target, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, f.uri + " must hold a path that can be decoded."
	}
	host := r.Host
	if values := r.Header[f.host]; f.host != "" && len(values) > 0 {
		if host, ok = only(values); !ok || !httpguts.ValidHostHeader(host) {
			return nil, f.host + " must be there once, if at all, and hold a host."
		}
	}
	// The header fields are shared: nothing behind here changes them.
	inner = r.WithContext(r.Context())
	inner.Method, inner.URL, inner.RequestURI, inner.Host = method, target, uri, host
	inner.Body, inner.ContentLength = http.NoBody, 0
	return inner, ""
}

// only is the value of a field that stands in a request once.
func only(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// isOrigin reports whether uri has the usual form of a request target, which
// begins with the path. In it no blank, no control character and no fragment can
// stand; url.ParseRequestURI is more lenient, and what comes later might not be.
func isOrigin(uri string) bool {
	return strings.HasPrefix(uri, "/") && !strings.ContainsFunc(uri, func(r rune) bool {
		return r <= ' ' || r == '#' || r == '\x7f'
	})
}

package gateway

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"example.com/weir/adapter-inbound-web/subject"
)

// Header fields in the canonical form of net/http.
const (
	forwarded      = "Forwarded"
	xForwarded     = "X-Forwarded-"
	xForwardedFor  = "X-Forwarded-For"
	xForwardedHost = "X-Forwarded-Host"
	xForwardedTLS  = "X-Forwarded-Proto"
	xRealIP        = "X-Real-Ip"
)

// isProxyField reports whether a field, other than Forwarded, is one that
// applications believe and only a proxy has to write: who the client is, and which
// path it asked for. Beside Host, Proto and the like, proxies add their own.
func isProxyField(name string) bool {
	switch name {
	case xRealIP, "X-Forwarded", "X-Client-Ip", "True-Client-Ip", "X-Original-Url", "X-Rewrite-Url":
		return true
	default:
		return strings.HasPrefix(name, xForwarded)
	}
}

// removeAmbiguousFields removes fields with an underscore in their name. CGI and
// what follows it, such as WSGI, Rack and PHP, take X_Forwarded_For and
// X-Forwarded-For for one field, and a client could bring back any that is
// removed or replaced here.
func removeAmbiguousFields(header http.Header) {
	for name := range header {
		if strings.Contains(name, "_") {
			delete(header, name)
		}
	}
}

// removeRateLimitFields removes the fields of both families in all their forms,
// those of older drafts too.
func removeRateLimitFields(header http.Header) {
	for name := range header {
		if strings.HasPrefix(name, "Ratelimit") || strings.HasPrefix(name, "X-Ratelimit") {
			delete(header, name)
		}
	}
}

// removeLimiterFields removes from a request what only a limiter has to say.
func removeLimiterFields(header http.Header) {
	removeRateLimitFields(header)
	for name := range header {
		if strings.HasPrefix(name, "Weir-") {
			delete(header, name)
		}
	}
}

// removeHiddenUpgrade removes an upgrade to a protocol that carries requests, such
// as h2c: nobody would count them. The request goes on as if the client had not
// asked for it, which every server must understand.
func removeHiddenUpgrade(header http.Header) {
	protocols := strings.ToLower(header.Get("Upgrade"))
	for protocol := range strings.SplitSeq(protocols, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(protocol), "/")
		switch name {
		case "h2c", "h2", "http", "tls", "spdy":
			header.Del("Upgrade")
			header.Del("Connection")
			header.Del("Http2-Settings")
			return
		}
	}
}

// clientFields tells the application of the client.
type clientFields struct {
	standard bool
	// proxies are those whose fields are believed.
	proxies []netip.Prefix
}

func newClientFields(config Config) clientFields {
	fields := clientFields{standard: config.Forwarded == StandardForwarded}
	// Of the family that the proxies do not write, clients are the authors.
	if fields.standard == (config.ProxiesWrite == subject.StandardForwarded) {
		fields.proxies = config.TrustedProxies
	}
	return fields
}

// write puts the fields of one family for in into header, which then has none of
// the other.
func (f clientFields) write(header http.Header, in *http.Request) {
	peer := peerOf(in)
	trusted := f.trusts(peer)
	header.Del(forwarded)
	for name := range header {
		if isProxyField(name) && (!trusted || f.standard && isXFamily(name)) {
			delete(header, name)
		}
	}
	var heard http.Header // what is believed of the fields that came
	if trusted {
		heard = in.Header
	}
	if f.standard {
		writeStandard(header, in, peer, heard)
		return
	}
	writeX(header, in, peer, heard)
}

// isXFamily reports whether a field says what Forwarded does, in other words.
func isXFamily(name string) bool {
	return strings.HasPrefix(name, xForwarded) || name == xRealIP
}

func writeX(header http.Header, in *http.Request, peer netip.Addr, heard http.Header) {
	hops := slices.Clone(heard[xForwardedFor])
	if peer.IsValid() {
		hops = append(hops, peer.String())
	}
	set(header, xForwardedFor, strings.Join(hops, ", "))
	// The first proxy alone knows what the client asked for.
	set(header, xForwardedHost, cmp.Or(heard.Get(xForwardedHost), in.Host))
	set(header, xForwardedTLS, cmp.Or(heard.Get(xForwardedTLS), schemeOf(in)))
}

func writeStandard(header http.Header, in *http.Request, peer netip.Addr, heard http.Header) {
	element := "for=" + node(peer) + ";proto=" + schemeOf(in)
	if in.Host != "" {
		element += ";host=" + quote(in.Host)
	}
	set(header, forwarded, strings.Join(append(slices.Clone(heard[forwarded]), element), ", "))
}

// set writes a field unless it would be empty.
func set(header http.Header, name, value string) {
	if value != "" {
		header[name] = []string{value}
	}
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// node names addr as RFC 7239, section 6, does.
func node(addr netip.Addr) string {
	switch {
	case !addr.IsValid():
		return "unknown"
	case addr.Is4():
		return addr.String()
	default:
		return `"[` + addr.String() + `]"`
	}
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// peerOf is the address of the connection's peer, without port, zone and the
// IPv6 form of IPv4; invalid when there is none.
func peerOf(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

func (f clientFields) trusts(peer netip.Addr) bool {
	for _, prefix := range f.proxies {
		if prefix.Contains(peer) {
			return true
		}
	}
	return false
}

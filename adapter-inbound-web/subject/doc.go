// Package subject answers who is asking: it takes the subject of a rate limit
// from an HTTP request.
//
// The subject is either the client's network address or the value of one
// request header, such as an API key. An [Extractor] is built once from a
// [Config] and asked for each request:
//
//	extractor, err := subject.New(subject.Config{Source: "header:X-Api-Key"})
//	...
//	who, err := extractor.Extract(request)
//	if errors.Is(err, subject.ErrMissing) { // the client did not say who it is
//
// Where all requests count as one, as at a level of limits that everybody shares,
// [Fixed] takes the place of a configured extractor.
//
// # Whose word counts
//
// Anybody can write any X-Forwarded-For header, so it is read only as far as
// machines in [Config.TrustedProxies] wrote it. The walk starts at the peer of
// the connection. While the address in hand is a trusted proxy, the address
// that this proxy appended, which is the next one from the right, takes its
// place. The first address that is not trusted is the client; what stands to
// its left is hearsay. Without trusted proxies the peer is the client and the
// header is not looked at.
//
// The walk stops at the last good address when the next one cannot be read, and
// after [MaxHops] of them. It never jumps over what it cannot read.
//
// Where proxies write the header Forwarded (RFC 7239) instead, [Config.Forwarded]
// says so, and the same walk goes over its parameters for. Only the header that
// is configured is read: proxies leave the other as the client wrote it. A hop
// that is "unknown" or obfuscated cannot be read, so the walk stops before it.
//
// A proxy that says who is asking must replace [Config.Source]'s header, and not
// append to it: of two values one may be the client's own, so a request with two
// counts as one without the header.
//
// # What one client is
//
// An IPv4 address counts by itself, an IPv6 address by its prefix of the width
// in [Config.Addressing], a /64 unless it says otherwise.
//
// Clients behind a translator that maps IPv4 into one IPv6 /96 (NAT64), such as
// 64:ff9b::/96, hence share one subject. There are three ways out: a width of
// 128, if other clients cannot change their address at will; the translator as a
// trusted proxy that names its clients; a header as the source.
//
// Neither subjects nor their addresses stand in the errors of this package.
package subject

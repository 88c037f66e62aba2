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
// An address counts as package pseudonym counts it: IPv4 by itself, IPv6 by its
// /64. Clients behind a translator that maps IPv4 into one IPv6 /96, such as
// 64:ff9b::/96, hence share one subject; let such a translator be a trusted
// proxy that sends X-Forwarded-For, or use a header as the source.
//
// Neither subjects nor their addresses stand in the errors of this package.
package subject

// Package gateway is the way on to the protected application: what a request
// reaches once the edge has let it pass. Where no application is configured,
// [Resource] stands in for it.
//
// # What is sent on
//
// Method, query and body go as they came. The path keeps its escapes and loses
// empty segments, "." and "..". Bodies, server-sent events and upgraded
// connections such as WebSockets stream in both directions. Header fields go as
// they came, but for these:
//
//   - Hop-by-hop fields end here, apart from those of an upgrade.
//   - Host is the client's: an application behaves as it did before a gateway
//     stood in front of it. It builds the same links, and its check of a
//     browser's Origin against its own name holds.
//   - One family of forwarding fields is written, the other removed; see
//     [Forwarded]. What stands in them is kept only if a trusted proxy sent it that
//     writes this family. Likewise for fields such as X-Original-Url.
//   - Fields with an underscore in their name are removed: many applications take
//     it for a hyphen.
//   - X-Request-Id is the client's if it is well-formed, otherwise a new one.
//   - RateLimit, RateLimit-*, X-RateLimit-* and Weir-* are removed: they are
//     words of a limiter, and a client is none.
//
// # What comes back
//
// The application's answer, without its own RateLimit and X-RateLimit fields if
// the edge has decided the request: one answer speaks of one quota. Those of an
// exempt request stay.
//
// An application that cannot be reached is 502, one that does not answer in time
// 504, both as problem documents. An answer that breaks off breaks off for the
// client as well, so that nobody takes the half for the whole. A client that
// leaves ends its request at the application.
package gateway

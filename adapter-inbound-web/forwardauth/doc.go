// Package forwardauth answers proxies that ask, before they let a request pass,
// whether it may: nginx with auth_request, Traefik with ForwardAuth, Caddy with
// forward_auth, Envoy with ext_authz.
//
//	GET /v1/authorize
//
// The proxy describes the client's request in one of two families of header
// fields:
//
//	X-Forwarded-Method, X-Forwarded-Uri    and X-Forwarded-Host, if hosts matter
//	X-Original-Method, X-Original-URI      and Host, if hosts matter
//
// The request that they describe, with all other header fields as the proxy
// passed them on, meets the same [edge] that limits the public listener: its
// routes, its subjects, its quotas. The answer is 204 where the edge would have
// let it pass, and the edge's own answer otherwise. Both carry the rate-limit
// header fields. Nothing of the request is passed on to anybody. Where the edge has a
// failure mode, it holds here too: a 204 in spite of a failure says so in
// Weir-Degraded, which the proxy may show to its client.
//
// # Denials
//
// A denial is 429. With ?denied-status=403 it is 403, for nginx, which takes 429
// for a failure of ours.
//
// # Who may ask
//
// What the fields say is believed, so only trusted proxies are answered, and
// peers on this machine. The peer that asks counts as one hop of the walk that
// finds the client, so the address that it appended is what counts.
//
// A proxy must set the fields of its family itself, and drop those of the other:
// clients can send them too. A request in which both families stand, or one of
// them in part or more than once, is answered 400, so that a client which sends
// them is refused and nobody is misled.
package forwardauth

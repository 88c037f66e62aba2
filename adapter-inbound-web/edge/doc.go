// Package edge limits requests before they reach a handler: it finds out who is
// asking, has the request decided, and lets it pass or answers it.
//
//	limit, err := edge.New(edge.Config{Port: port, Catalog: catalog, Pseudonym: key, DefaultPolicy: "edge-default"})
//	...
//	http.ListenAndServe(address, limit(handler))
//
// The middleware that [New] returns works in any net/http application. It does
// not wrap the ResponseWriter, so a handler can still flush, hijack or upgrade
// the connection; what happens on an upgraded connection is not limited. A
// handler reads what was decided with [DecisionFrom].
//
// [Layers] limit a request at several levels at once, such as those of a user and
// of the user's tenant. They alone have a [FailureMode]; what else cannot be decided
// is refused.
package edge

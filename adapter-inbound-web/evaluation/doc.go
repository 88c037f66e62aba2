// Package evaluation is the decision API, for callers that enforce limits by
// themselves:
//
//	POST /v1/evaluations  decides one request and charges it, at one or several levels
//	GET  /v1/policies     lists the policies in force
//
// An evaluation is asked for with a JSON document,
//
//	{"policyId": "edge-default", "subject": "ip:192.0.2.1", "cost": 1, "deadlineMillis": 250}
//
// of which only the subject is required; its text is that of
// [example.com/weir/shared-contract/pseudonym.ParseSubject], with the width of
// IPv6 prefixes that [Config.Addressing] says. Levels are charged together or
// not at all:
//
//	{"layers": [
//	  {"name": "user", "policyId": "per-user", "subject": "alice"},
//	  {"name": "tenant", "policyId": "per-tenant", "subject": "acme", "cost": 1, "limit": 50, "shared": false}
//	], "root": "tenant", "deadlineMillis": 250}
//
// A level's name, policy and subject are required, and the most specific level
// comes first. The root, whom the other levels belong to, is the last level that
// is not shared unless the document names another.
//
// A decision, allowed or denied, is answered 200. Everything else is a problem
// document, and nothing is charged by a request that is refused. No failure mode
// applies here: what could not be decided is answered as that.
//
// Who reaches this API can spend anybody's quota, so it belongs on a listener
// that clients cannot reach.
package evaluation

// Package evaluation is the decision API, for callers that enforce limits by
// themselves:
//
//	POST /v1/evaluations  decides one request and charges it
//	GET  /v1/policies     lists the policies in force
//
// An evaluation is asked for with a JSON document,
//
//	{"policyId": "edge-default", "subject": "ip:192.0.2.1", "cost": 1, "deadlineMillis": 250}
//
// of which only the subject is required; its text is that of
// [example.com/weir/shared-contract/pseudonym.ParseSubject], with the width of
// IPv6 prefixes that [Config.Addressing] says. A decision, allowed
// or denied, is answered 200. Everything else is a problem document, and nothing
// is charged by a request that is refused.
//
// Who reaches this API can spend anybody's quota, so it belongs on a listener
// that clients cannot reach.
package evaluation

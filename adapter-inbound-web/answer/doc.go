// Package answer turns what happened inside into what HTTP says about it. It is
// the only place that knows which status code, header fields and document
// belong to an outcome, and the one writer of problem documents (RFC 9457) for
// all packages that serve HTTP.
//
//	allowed        passes, with the rate-limit header fields
//	denied         429, the same fields and Retry-After, type …#quota-exceeded
//	               (403 for proxies that want it so: [DeniedStatus])
//	unavailable    503, Retry-After, type …#temporary-reduced-capacity
//	indeterminate  503, Retry-After, type …#temporary-reduced-capacity
//	incompatible   503, logged as an error
//	anything else  as incompatible
//
// Decisions of several levels are answered by the same table. Their RateLimit fields
// list every level; X-RateLimit and the policy of the document can name only one,
// which is the [Tightest]'s and the first refusing level's. What passes or is decided
// in spite of a failure carries Weir-Degraded.
//
// A [Gate] answers requests that are themselves limited. [Failures] answers
// callers that ask for a decision. A [Problem] answers everything else that
// goes wrong.
package answer

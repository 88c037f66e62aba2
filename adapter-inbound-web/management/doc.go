// Package management serves the listener for operators and for trusted callers,
// which is never the public one:
//
//	/livez         200 as long as the process answers
//	/readyz        200 when every check passes, otherwise 503 with what is missing
//	/metrics       what is counted, for scrapers
//	/v1/…          the decision API, and the one for proxies that ask
//	/openapi.yaml  the description of all of it
//
// A token guards all of it but what orchestrators and scrapers ask for: /livez,
// /readyz and /metrics.
package management

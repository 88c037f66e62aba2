// Package contract is the root of the module that owns Weir's ports: what an
// application may ask for, and what every adapter must answer.
//
// It holds no code of its own. The module uses the standard library only and
// names no technology: no key, script, time-to-live or status code stands in
// it. Its packages are
//
//   - ratelimit: the edge port, its requests, policies, decisions and outcomes
//   - failure: the classes of failure that every capability shares
//   - pseudonym: keyed digests that stand in for a subject's identity
//   - ratelimittest: the contract, executable: conformance suite, model, doubles
package contract

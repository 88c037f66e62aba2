// Package legacy keeps the interfaces of older limiters, so that programs which
// call them need not change more than a constructor:
//
//	RateLimiter       one key, one limit
//	DualLayerLimiter  a tenant and one of its users
//	Limiter           an agent, its organisation, and everybody
//
// Each has an implementation over [ratelimit.LayeredPort], by what all processes
// share, and one in this process alone:
//
//	RateLimiter       NewKeyLimiter           locallimit.Limiter
//	DualLayerLimiter  NewDualLimiter          NewLocalDualLimiter
//	Limiter           NewHierarchicalLimiter  NewLocalHierarchicalLimiter
//
// # Levels
//
// A request is charged at all of its levels or at none, in one atomic step. A user
// is counted under its tenant, and an agent under its organisation: the same key
// under another tenant is somebody else. A tenant, an organisation and the key of
// a RateLimiter are the counters of evaluations of that subject by itself, such as
// those of the middleware under the same policy.
//
// # Keys
//
// Keys are read as [pseudonym.ParseSubject] reads them, 1 to
// [pseudonym.MaxSubjectBytes] bytes: "ip:192.0.2.1" is the client of that address,
// and most other texts stand for themselves. No limiter of this package keeps
// them; it keeps their pseudonyms.
//
// # Limits
//
// A limit that comes with a call is 1 or more, and no "unlimited" exists. Over a
// port it is at most what the policy gives the subject. It may differ from call to
// call; what was spent is kept.
//
// # Failures
//
// What could not be decided is an error, and never "allowed":
//
//   - [ratelimit.Faults], for arguments that make no sense; nothing was charged;
//   - [UndecidedError], for what the port could not decide.
//
// [ErrRateLimitExceeded] is the answer of a Limiter, and no failure.
package legacy

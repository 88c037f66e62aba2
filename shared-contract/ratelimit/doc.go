// Package ratelimit is the inside of the hexagon: what an application asks of a
// rate limiter and what it gets back.
//
// A [Policy] says how much one subject may spend. A [Catalog] holds the
// policies in force. An [EdgePort] evaluates a [Request] (this subject, this
// policy, this cost) and answers with an [Outcome]: a [Decision] that allows or
// denies, or one of three failures that say whether quota was spent.
//
// Most callers need [NewRequest], [EdgePort.Evaluate] and a switch over the
// outcome:
//
//	switch outcome := port.Evaluate(ctx, request).(type) {
//	case ratelimit.Evaluated:     // outcome.Decision.Allowed
//	case ratelimit.Unavailable:   // nothing was spent
//	case ratelimit.Indeterminate: // may have been spent
//	case ratelimit.Incompatible:  // needs an operator
//	default:                      // a broken adapter: as Incompatible
//	}
//
// A [LayeredPort] does the same for several levels at once, such as a user and
// the user's tenant: it charges all of them or none.
//
// An adapter implements EdgePort, and LayeredPort if it can; package
// ratelimittest holds doubles for callers, and the suites and the model that an
// adapter is held against.
package ratelimit

package ratelimit

import "time"

// Source says who decided. Adapters name their own.
type Source string

// GlobalRedis: one store that all processes share.
const GlobalRedis Source = "GLOBAL_REDIS"

// Certainty says how a decision relates to the policy's promise.
type Certainty string

const (
	// Certain decisions keep the policy's promise exactly.
	Certain Certainty = "CERTAIN"
	// ApproximateAlgorithm decisions follow the algorithm exactly, and the
	// algorithm approximates the promise.
	ApproximateAlgorithm Certainty = "APPROXIMATE_ALGORITHM"
)

// Decision is the answer to a request that could be decided. A denial is a
// decision too, and it charged nothing.
//
// Its durations are counted from the store's clock at the moment of the
// decision, so that no clock of the application takes part.
type Decision struct {
	Allowed bool
	// Limit is the policy's quota at the moment of the decision.
	Limit int64
	// Remaining is what is left to spend now, 0 to Limit.
	Remaining int64
	// RetryAfter is, on a denial, the shortest time after which the same request
	// is admitted if nobody else spends; zero on an admission.
	RetryAfter time.Duration
	// ResetAfter is the time until the subject has its whole quota again if it
	// spends nothing; for a fixed window, until the window's end.
	ResetAfter time.Duration
	// ResetAt is the same moment by the store's clock, in UTC.
	ResetAt time.Time
	// Policy is the policy that was applied.
	Policy Policy
	// Source says who decided.
	Source Source
	// Certainty is that of the policy's algorithm.
	Certainty Certainty
}

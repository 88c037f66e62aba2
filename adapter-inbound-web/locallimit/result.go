package locallimit

import "time"

// Result is the answer to one request.
type Result struct {
	Allowed bool
	// Limit is that of the limiter.
	Limit int
	// Remaining is what is left to spend now, 0 to Limit.
	Remaining int
	// RetryAfter is, on a denial, the shortest time after which the same request
	// is admitted if nobody else spends: more than zero and at most the window.
	// It is zero on an admission.
	RetryAfter time.Duration
	// Reset is the time until the subject has its whole limit again if it spends
	// nothing.
	Reset time.Duration
}

package locallimit

import "time"

// Result is the answer to one request, or that of one of its levels.
type Result struct {
	Allowed bool
	// Limit is that of the limiter, or of the [Charge].
	Limit int
	// Remaining is what is left to spend now, 0 to Limit.
	Remaining int
	// RetryAfter is, on a denial, the shortest time after which the same request
	// is admitted if nobody else spends: more than zero and at most the window.
	// It is zero on an admission.
	RetryAfter time.Duration
	// Reset is the time until the subject has its whole limit again if it spends
	// nothing: at most the window, and zero if nothing that it spent counts.
	Reset time.Duration
}

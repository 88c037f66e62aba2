package usecase

import (
	"fmt"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Reason says why an order was not carried out, as far as it matters for what
// the caller does next.
type Reason string

const (
	// OverQuota: the tenant has spent its quota. Nothing was charged; the same
	// order may come again after RetryAfter.
	OverQuota Reason = "over quota"
	// NotCharged: nobody could decide, and nothing was charged. The caller may
	// repeat the order after RetryAfter, also by itself.
	NotCharged Reason = "not decided, nothing charged"
	// PerhapsCharged: nobody could decide, and the order may have been charged.
	// A repetition may be charged twice, so it is for the tenant to ask again,
	// not for a loop.
	PerhapsCharged Reason = "not decided, perhaps charged"
	// OutOfOrder: policy and store do not fit each other. It takes an operator,
	// and repeating does not help.
	OutOfOrder Reason = "limiter out of order"
)

// RefusedError: an order was refused before it reached the database.
type RefusedError struct {
	Reason Reason
	// RetryAfter is how long to wait before the order may come again; zero when
	// waiting alone does not help.
	RetryAfter time.Duration
	// Category names the cause for operators; empty when the quota is spent.
	Category failure.Category
}

// Error gives reason and cause.
func (e *RefusedError) Error() string {
	if e.Category == "" {
		return fmt.Sprintf("refused: %s", e.Reason)
	}
	return fmt.Sprintf("refused: %s (%s)", e.Reason, e.Category)
}

// admitted returns nil for what may pass, and otherwise the refusal. It names
// every outcome; what is none of them, or nil, comes from a broken adapter.
func admitted(outcome ratelimit.Outcome) error {
	switch outcome := outcome.(type) {
	case ratelimit.Evaluated:
		if !outcome.Decision.Allowed {
			return &RefusedError{Reason: OverQuota, RetryAfter: outcome.Decision.RetryAfter}
		}
		return nil
	case ratelimit.Unavailable:
		return &RefusedError{Reason: NotCharged, RetryAfter: outcome.RetryAfter, Category: outcome.Category}
	case ratelimit.Indeterminate:
		return &RefusedError{Reason: PerhapsCharged, RetryAfter: outcome.RetryAfter, Category: outcome.Category}
	case ratelimit.Incompatible:
		return &RefusedError{Reason: OutOfOrder, RetryAfter: outcome.RetryAfter, Category: outcome.Category}
	default:
		return &RefusedError{Reason: OutOfOrder, Category: failure.Protocol}
	}
}

package legacy

import (
	"context"
	"fmt"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// ErrRateLimitExceeded says that a level has nothing left, and that nothing was
// charged. [errors.As] finds it, and the level with it. For [errors.Is] one
// without a level is that of any level, and one with a level that of this level:
//
//	errors.Is(err, legacy.ErrRateLimitExceeded{})
//	errors.Is(err, legacy.ErrRateLimitExceeded{Level: legacy.LevelOrg})
type ErrRateLimitExceeded struct {
	// Level is the most specific one of those that refuse: [LevelAgent], [LevelOrg]
	// or [LevelGlobal].
	Level string
	// RetryAfter is the longest wait of all levels that refuse, more than zero.
	// Before it has passed the same request is refused again.
	RetryAfter time.Duration
}

// Error names the level.
func (e ErrRateLimitExceeded) Error() string {
	return fmt.Sprintf("rate limit of level %s exceeded, retry after %v", e.Level, e.RetryAfter)
}

// Is reports whether target is the same for [errors.Is].
func (e ErrRateLimitExceeded) Is(target error) bool {
	other, ok := target.(ErrRateLimitExceeded)
	return ok && (other.Level == "" || other.Level == e.Level)
}

// UndecidedError says that a request could not be decided, so that it must not be
// taken for allowed.
type UndecidedError struct {
	// Outcome is a [ratelimit.Unavailable], if nothing was charged, or else a
	// [ratelimit.Indeterminate] or a [ratelimit.Incompatible].
	Outcome ratelimit.LayeredOutcome
	// givenUp: by then the caller's context was over.
	givenUp bool
}

// Error tells whether something may have been charged, and the category.
func (e UndecidedError) Error() string {
	consequence := "an operator must act"
	switch e.Outcome.(type) {
	case ratelimit.Unavailable:
		consequence = "nothing was charged"
	case ratelimit.Indeterminate:
		consequence = "may have been charged"
	case ratelimit.LayeredEvaluated, ratelimit.Incompatible:
	}
	return fmt.Sprintf("rate limit undecided, %s: %s", consequence, e.Category())
}

// Category says why nothing was decided.
func (e UndecidedError) Category() failure.Category {
	switch o := e.Outcome.(type) {
	case ratelimit.Unavailable:
		return o.Category
	case ratelimit.Indeterminate:
		return o.Category
	case ratelimit.Incompatible:
		return o.Category
	case ratelimit.LayeredEvaluated:
	}
	return failure.Protocol // of a broken adapter
}

// StoreGone reports whether the store could not be reached, or gave no answer to a
// caller that waited for it: the failures that [edge.FailOpen] lets pass. They are
// the only ones for which a caller may let a request pass undecided.
func (e UndecidedError) StoreGone() bool {
	_, gone := edge.FailOpen.Covers(e.Outcome)
	return gone && !e.givenUp
}

// decisionOf is the decision of request in outcome, or an [UndecidedError] of a
// caller with ctx.
func decisionOf(ctx context.Context, request ratelimit.LayeredRequest, outcome ratelimit.LayeredOutcome) (ratelimit.LayeredDecision, error) {
	undecided := UndecidedError{
		Outcome: ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.Protocol}},
		givenUp: ctx.Err() != nil,
	}
	switch o := outcome.(type) {
	case ratelimit.LayeredEvaluated:
		if o.Decision.Answers(request) {
			return o.Decision, nil
		}
	case ratelimit.Unavailable, ratelimit.Indeterminate, ratelimit.Incompatible:
		undecided.Outcome = o
	}
	return ratelimit.LayeredDecision{}, undecided
}

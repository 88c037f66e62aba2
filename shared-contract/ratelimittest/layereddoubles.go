package ratelimittest

import (
	"context"
	"slices"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// LayeredAnswers is a LayeredPort that answers each evaluation with a function of
// the request.
type LayeredAnswers func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome

var _ ratelimit.LayeredPort = LayeredAnswers(nil)

// EvaluateLayers calls a.
func (a LayeredAnswers) EvaluateLayers(_ context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return a(request)
}

// LayeredAlwaysAllows admits everything that policies bear at every level and says
// that nothing else was spent.
func LayeredAlwaysAllows(policies *ratelimit.Snapshot) LayeredAnswers {
	return decidingLevels(policies, func(_ string, one charge) ratelimit.Decision {
		return admission(one.policy, one.cost)
	})
}

// LayeredAlwaysDenies denies everything that policies bear until retryAfter has
// passed. The levels of the given names refuse it, or every level if none is
// given; where others admit it, nothing was spent.
func LayeredAlwaysDenies(policies *ratelimit.Snapshot, retryAfter time.Duration, names ...string) LayeredAnswers {
	return decidingLevels(policies, func(level string, one charge) ratelimit.Decision {
		if len(names) > 0 && !slices.Contains(names, level) {
			return admission(one.policy, 0)
		}
		return denial(one.policy, retryAfter)
	})
}

// decidingLevels refuses what policies do not bear.
func decidingLevels(policies *ratelimit.Snapshot, decide func(level string, one charge) ratelimit.Decision) LayeredAnswers {
	return func(request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		charges, refusal := chargesOf(policies, request)
		if refusal != nil {
			return refusal
		}
		levels := make([]ratelimit.LevelDecision, len(charges))
		for i, level := range request.Levels() {
			levels[i] = ratelimit.LevelDecision{Decision: decide(level.Name, charges[i]), Level: level.Name}
		}
		return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: levels}}
	}
}

// LayeredAlwaysUnavailable answers that nothing was charged, which is no level's
// fault.
func LayeredAlwaysUnavailable(category failure.Category, retryAfter time.Duration) LayeredAnswers {
	return func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		return unavailable(category, retryAfter, "")
	}
}

// LayeredAlwaysIndeterminate answers that the request may have been charged at
// every level.
func LayeredAlwaysIndeterminate(category failure.Category, retryAfter time.Duration) LayeredAnswers {
	return func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		return indeterminate(category, retryAfter, "")
	}
}

// LayeredAlwaysIncompatible answers that an operator has to act.
func LayeredAlwaysIncompatible(category failure.Category) LayeredAnswers {
	return func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		return incompatible(category, "")
	}
}

// LayeredRecorder passes evaluations on to Next and remembers their requests. It
// is safe for concurrent use.
type LayeredRecorder struct {
	Next ratelimit.LayeredPort

	seen record[ratelimit.LayeredRequest]
}

var _ ratelimit.LayeredPort = (*LayeredRecorder)(nil)

// EvaluateLayers remembers request and asks Next.
func (r *LayeredRecorder) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	r.seen.add(request)
	return r.Next.EvaluateLayers(ctx, request)
}

// Requests are the requests so far, in order of arrival.
func (r *LayeredRecorder) Requests() []ratelimit.LayeredRequest { return r.seen.all() }

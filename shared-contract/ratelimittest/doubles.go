// Package ratelimittest is the contract of package ratelimit in executable form.
//
// For those who implement an EdgePort, [Run] checks every promise of the port,
// one subtest each, and [Step] is a model of every algorithm to compare
// decisions with. For those who call one there are doubles: [Memory], which
// decides by the model, and others that always give the same answer.
package ratelimittest

import (
	"context"
	"sync"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Answers is an EdgePort that answers each evaluation with a function of the
// request.
type Answers func(ratelimit.Request) ratelimit.Outcome

var _ ratelimit.EdgePort = Answers(nil)

// Evaluate calls a.
func (a Answers) Evaluate(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
	return a(request)
}

// AlwaysAllows admits everything under policy and says that nothing else was
// spent.
func AlwaysAllows(policy ratelimit.Policy) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Evaluated{Decision: ratelimit.Decision{
			Allowed:    true,
			Limit:      policy.Quota(),
			Remaining:  policy.Quota() - request.Cost(),
			ResetAfter: policy.Window(),
			ResetAt:    epoch.Add(policy.Window()),
			Policy:     policy,
			Source:     Source,
			Certainty:  policy.Parameters().Certainty(),
		}}
	}
}

// AlwaysDenies denies everything under policy until retryAfter has passed.
func AlwaysDenies(policy ratelimit.Policy, retryAfter time.Duration) Answers {
	return func(ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Evaluated{Decision: ratelimit.Decision{
			Limit:      policy.Quota(),
			RetryAfter: retryAfter,
			ResetAfter: retryAfter,
			ResetAt:    epoch.Add(retryAfter),
			Policy:     policy,
			Source:     Source,
			Certainty:  policy.Parameters().Certainty(),
		}}
	}
}

// AlwaysUnavailable answers that nothing was charged.
func AlwaysUnavailable(category failure.Category, retryAfter time.Duration) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: category, RetryAfter: retryAfter},
			PolicyID:    request.PolicyID(),
		}
	}
}

// AlwaysIndeterminate answers that the request may have been charged.
func AlwaysIndeterminate(category failure.Category, retryAfter time.Duration) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: category, RetryAfter: retryAfter},
			PolicyID:      request.PolicyID(),
		}
	}
}

// AlwaysIncompatible answers that an operator has to act.
func AlwaysIncompatible(category failure.Category) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: category},
			PolicyID:     request.PolicyID(),
		}
	}
}

// Recorder passes evaluations on to Next and remembers their requests. It is
// safe for concurrent use.
type Recorder struct {
	Next ratelimit.EdgePort

	mu       sync.Mutex
	requests []ratelimit.Request
}

var _ ratelimit.EdgePort = (*Recorder)(nil)

// Evaluate remembers request and asks Next.
func (r *Recorder) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	r.mu.Lock()
	r.requests = append(r.requests, request)
	r.mu.Unlock()
	return r.Next.Evaluate(ctx, request)
}

// Requests are the requests so far, in order of arrival.
func (r *Recorder) Requests() []ratelimit.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]ratelimit.Request(nil), r.requests...)
}

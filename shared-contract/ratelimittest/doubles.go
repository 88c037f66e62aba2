// Package ratelimittest is the contract of package ratelimit in executable form.
//
// For those who implement an EdgePort or a LayeredPort, [Run] and [RunLayered]
// check every promise of the port, one subtest each, and [Step] and [StepLayers]
// are a model of every algorithm to compare decisions with. For those who call one
// there are doubles: [Memory], which decides by the model, and others that always
// give the same answer.
package ratelimittest

import (
	"context"
	"slices"
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
		return ratelimit.Evaluated{Decision: admission(policy, request.Cost())}
	}
}

// AlwaysDenies denies everything under policy until retryAfter has passed.
func AlwaysDenies(policy ratelimit.Policy, retryAfter time.Duration) Answers {
	return func(ratelimit.Request) ratelimit.Outcome {
		return ratelimit.Evaluated{Decision: denial(policy, retryAfter)}
	}
}

func admission(policy ratelimit.Policy, spent int64) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:    true,
		Limit:      policy.Quota(),
		Remaining:  policy.Quota() - spent,
		ResetAfter: policy.Window(),
		ResetAt:    epoch.Add(policy.Window()),
		Policy:     policy,
		Source:     Source,
		Certainty:  policy.Parameters().Certainty(),
	}
}

func denial(policy ratelimit.Policy, retryAfter time.Duration) ratelimit.Decision {
	return ratelimit.Decision{
		Limit:      policy.Quota(),
		RetryAfter: retryAfter,
		ResetAfter: retryAfter,
		ResetAt:    epoch.Add(retryAfter),
		Policy:     policy,
		Source:     Source,
		Certainty:  policy.Parameters().Certainty(),
	}
}

// AlwaysUnavailable answers that nothing was charged.
func AlwaysUnavailable(category failure.Category, retryAfter time.Duration) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return unavailable(category, retryAfter, request.PolicyID())
	}
}

// AlwaysIndeterminate answers that the request may have been charged.
func AlwaysIndeterminate(category failure.Category, retryAfter time.Duration) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return indeterminate(category, retryAfter, request.PolicyID())
	}
}

// AlwaysIncompatible answers that an operator has to act.
func AlwaysIncompatible(category failure.Category) Answers {
	return func(request ratelimit.Request) ratelimit.Outcome {
		return incompatible(category, request.PolicyID())
	}
}

func unavailable(category failure.Category, retryAfter time.Duration, policyID string) ratelimit.Unavailable {
	return ratelimit.Unavailable{
		Unavailable: failure.Unavailable{Category: category, RetryAfter: retryAfter},
		PolicyID:    policyID,
	}
}

func indeterminate(category failure.Category, retryAfter time.Duration, policyID string) ratelimit.Indeterminate {
	return ratelimit.Indeterminate{
		Indeterminate: failure.Indeterminate{Category: category, RetryAfter: retryAfter},
		PolicyID:      policyID,
	}
}

func incompatible(category failure.Category, policyID string) ratelimit.Incompatible {
	return ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: category}, PolicyID: policyID}
}

// Recorder passes evaluations on to Next and remembers their requests. It is
// safe for concurrent use.
type Recorder struct {
	Next ratelimit.EdgePort

	seen record[ratelimit.Request]
}

var _ ratelimit.EdgePort = (*Recorder)(nil)

// Evaluate remembers request and asks Next.
func (r *Recorder) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	r.seen.add(request)
	return r.Next.Evaluate(ctx, request)
}

// Requests are the requests so far, in order of arrival.
func (r *Recorder) Requests() []ratelimit.Request { return r.seen.all() }

// record holds what came, in order of arrival.
type record[R any] struct {
	mu       sync.Mutex
	requests []R
}

func (r *record[R]) add(request R) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request)
}

func (r *record[R]) all() []R {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

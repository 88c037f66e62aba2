package ratelimittest

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Source is what doubles and [Memory] name as the source of their decisions.
const Source ratelimit.Source = "MEMORY"

var epoch = time.Unix(0, 0).UTC()

// Memory is an EdgePort that keeps its state in the process and its time in the
// hands of the test. It decides by [Step], so it is what an adapter's decisions
// are compared with. It never forgets a subject. It is safe for concurrent use.
type Memory struct {
	catalog *ratelimit.Catalog
	now     func() time.Time

	mu     sync.Mutex
	states map[memoryKey]State
}

type memoryKey struct {
	policy   string
	revision int64
	subject  pseudonym.Digest
}

var _ ratelimit.EdgePort = (*Memory)(nil)

// NewMemory decides by the policies of catalog at the time that now tells.
func NewMemory(catalog *ratelimit.Catalog, now func() time.Time) *Memory {
	return &Memory{catalog: catalog, now: now, states: make(map[memoryKey]State)}
}

// Evaluate keeps the promises of [ratelimit.EdgePort].
func (m *Memory) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	policy, refusal := precondition(ctx, m.catalog.Current(), request)
	if refusal != nil {
		return refusal
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{policy.ID(), policy.Revision(), request.Subject()}
	state, verdict := Step(policy, m.states[key], m.now().UnixMilli(), request.Cost())
	m.states[key] = state
	return outcomeOf(policy, verdict)
}

// precondition finds the policy of a request that may be decided, or the refusal
// of one that may not.
func precondition(ctx context.Context, policies *ratelimit.Snapshot, request ratelimit.Request) (ratelimit.Policy, ratelimit.Outcome) {
	refused := func(category failure.Category) (ratelimit.Policy, ratelimit.Outcome) {
		return ratelimit.Policy{}, AlwaysUnavailable(category, 0)(request)
	}
	if _, finite := ctx.Deadline(); !finite || request.IsZero() {
		return refused(failure.InvalidRequest)
	}
	if request.EvaluationID() != "" {
		return refused(failure.Unsupported)
	}
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return refused(failure.DeadlineTooShort)
	} else if err != nil {
		return refused(failure.Cancelled)
	}
	policy, known := policies.Policy(request.PolicyID())
	if !known {
		return ratelimit.Policy{}, AlwaysIncompatible(failure.UnknownPolicy)(request)
	}
	if request.Cost() > policy.MaxCost() {
		return refused(failure.InvalidRequest)
	}
	return policy, nil
}

func outcomeOf(policy ratelimit.Policy, verdict Verdict) ratelimit.Outcome {
	if verdict.ClockUnsafe {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.ClockUnsafe, RetryAfter: millis(verdict.RetryAfter)},
			PolicyID:    policy.ID(),
		}
	}
	return ratelimit.Evaluated{Decision: ratelimit.Decision{
		Allowed:    verdict.Allowed,
		Limit:      policy.Quota(),
		Remaining:  verdict.Remaining,
		RetryAfter: millis(verdict.RetryAfter),
		ResetAfter: millis(verdict.ResetAt - verdict.Now),
		ResetAt:    time.UnixMilli(verdict.ResetAt).UTC(),
		Policy:     policy,
		Source:     Source,
		Certainty:  policy.Parameters().Certainty(),
	}}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

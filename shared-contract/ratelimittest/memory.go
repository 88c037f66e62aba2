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
	unavailable := func(category failure.Category, retryAfter time.Duration) ratelimit.Outcome {
		return AlwaysUnavailable(category, retryAfter)(request)
	}
	if _, finite := ctx.Deadline(); !finite || request.IsZero() {
		return unavailable(failure.InvalidRequest, 0)
	}
	if request.EvaluationID() != "" {
		return unavailable(failure.Unsupported, 0)
	}
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return unavailable(failure.DeadlineTooShort, 0)
	} else if err != nil {
		return unavailable(failure.Cancelled, 0)
	}
	policy, known := m.catalog.Current().Policy(request.PolicyID())
	if !known {
		return AlwaysIncompatible(failure.UnknownPolicy)(request)
	}
	if request.Cost() > policy.MaxCost() {
		return unavailable(failure.InvalidRequest, 0)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{policy.ID(), policy.Revision(), request.Subject()}
	state, verdict := Step(policy, m.states[key], m.now().UnixMilli(), request.Cost())
	if verdict.ClockUnsafe {
		return unavailable(failure.ClockUnsafe, millis(verdict.RetryAfter))
	}
	m.states[key] = state
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

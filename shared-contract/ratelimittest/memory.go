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

// Memory is an EdgePort and a LayeredPort that keeps its state in the process and
// its time in the hands of the test. It decides by [StepLayers], so it is what an
// adapter's decisions are compared with. It never forgets a subject. It is safe
// for concurrent use.
type Memory struct {
	catalog *ratelimit.Catalog
	now     func() time.Time

	mu     sync.Mutex
	states map[counter]State
}

// counter names what a policy counts by itself.
type counter struct {
	policy         string
	revision       int64
	scope, subject pseudonym.Digest
}

var (
	_ ratelimit.EdgePort    = (*Memory)(nil)
	_ ratelimit.LayeredPort = (*Memory)(nil)
)

// NewMemory decides by the policies of catalog at the time that now tells.
func NewMemory(catalog *ratelimit.Catalog, now func() time.Time) *Memory {
	return &Memory{catalog: catalog, now: now, states: make(map[counter]State)}
}

// Evaluate keeps the promises of [ratelimit.EdgePort].
func (m *Memory) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	one, refusal := precondition(ctx, m.catalog.Current(), request)
	if refusal != nil {
		return refusal
	}
	return outcomeOf(one.policy, m.decide(one)[0])
}

// EvaluateLayers keeps the promises of [ratelimit.LayeredPort].
func (m *Memory) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	all, refusal := layeredPrecondition(ctx, m.catalog.Current(), request)
	if refusal != nil {
		return refusal
	}
	return layeredOutcomeOf(request, all, m.decide(all...))
}

func (m *Memory) decide(all ...charge) []Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	layers := make([]Layer, len(all))
	for i, one := range all {
		layers[i] = Layer{Policy: one.policy, State: m.states[one.counter], Cost: one.cost}
	}
	states, verdicts := StepLayers(m.now().UnixMilli(), layers...)
	for i, one := range all {
		m.states[one.counter] = states[i]
	}
	return verdicts
}

// charge is what a request wants of one counter, under the policy as it is for
// its subject.
type charge struct {
	counter
	policy ratelimit.Policy
	cost   int64
}

func chargeOf(policy ratelimit.Policy, scope, subject pseudonym.Digest, cost int64) charge {
	return charge{counter{policy.ID(), policy.Revision(), scope, subject}, policy, cost}
}

// precondition is what a request wants that may be decided, or the refusal of one
// that may not.
func precondition(ctx context.Context, policies *ratelimit.Snapshot, request ratelimit.Request) (charge, ratelimit.Outcome) {
	refused := func(category failure.Category) (charge, ratelimit.Outcome) {
		return charge{}, unavailable(category, 0, request.PolicyID())
	}
	if category := obstacle(ctx, request); category != "" {
		return refused(category)
	}
	if request.EvaluationID() != "" {
		return refused(failure.Unsupported)
	}
	policy, known := policies.PolicyFor(request.PolicyID(), request.Subject())
	if !known {
		return charge{}, incompatible(failure.UnknownPolicy, request.PolicyID())
	}
	if request.Cost() > policy.MaxCost() {
		return refused(failure.InvalidRequest)
	}
	return chargeOf(policy, request.Subject(), request.Subject(), request.Cost()), nil
}

// layeredPrecondition is precondition for every level.
func layeredPrecondition(ctx context.Context, policies *ratelimit.Snapshot, request ratelimit.LayeredRequest) ([]charge, ratelimit.LayeredOutcome) {
	if category := obstacle(ctx, request); category != "" {
		return nil, unavailable(category, 0, "")
	}
	return chargesOf(policies, request)
}

// chargesOf is what a request wants of each level, or the refusal of the first
// level that cannot be decided.
func chargesOf(policies *ratelimit.Snapshot, request ratelimit.LayeredRequest) ([]charge, ratelimit.LayeredOutcome) {
	charges := make([]charge, request.Len())
	for i, level := range request.Levels() {
		policy, known := policies.PolicyFor(level.PolicyID, level.Subject)
		if !known {
			return nil, incompatible(failure.UnknownPolicy, level.PolicyID)
		}
		effective, err := level.Effective(policy)
		if err != nil {
			return nil, unavailable(failure.InvalidRequest, 0, level.PolicyID)
		}
		charges[i] = chargeOf(effective, request.Scope(level), level.Subject, level.Cost)
	}
	return charges, nil
}

// obstacle is why a call cannot be decided whatever it asks; empty if it can.
func obstacle(ctx context.Context, request interface{ IsZero() bool }) failure.Category {
	if _, finite := ctx.Deadline(); !finite || request.IsZero() {
		return failure.InvalidRequest
	}
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return failure.DeadlineTooShort
	case err != nil:
		return failure.Cancelled
	}
	return ""
}

func outcomeOf(policy ratelimit.Policy, verdict Verdict) ratelimit.Outcome {
	if verdict.ClockUnsafe {
		return unavailable(failure.ClockUnsafe, millis(verdict.RetryAfter), policy.ID())
	}
	return ratelimit.Evaluated{Decision: decisionOf(policy, verdict)}
}

// layeredOutcomeOf names, of several levels whose clock is unsafe, the one that is
// unsafe for longest.
func layeredOutcomeOf(request ratelimit.LayeredRequest, all []charge, verdicts []Verdict) ratelimit.LayeredOutcome {
	decision := ratelimit.LayeredDecision{Levels: make([]ratelimit.LevelDecision, len(all))}
	var unsafe ratelimit.Unavailable
	for i, level := range request.Levels() {
		verdict := verdicts[i]
		if wait := millis(verdict.RetryAfter); verdict.ClockUnsafe && wait > unsafe.RetryAfter {
			unsafe = unavailable(failure.ClockUnsafe, wait, level.PolicyID)
		}
		decision.Levels[i] = ratelimit.LevelDecision{Decision: decisionOf(all[i].policy, verdict), Level: level.Name}
	}
	if unsafe.Category != "" {
		return unsafe
	}
	return ratelimit.LayeredEvaluated{Decision: decision}
}

func decisionOf(policy ratelimit.Policy, verdict Verdict) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:    verdict.Allowed,
		Limit:      policy.Quota(),
		Remaining:  verdict.Remaining,
		RetryAfter: millis(verdict.RetryAfter),
		ResetAfter: millis(verdict.ResetAt - verdict.Now),
		ResetAt:    time.UnixMilli(verdict.ResetAt).UTC(),
		Policy:     policy,
		Source:     Source,
		Certainty:  policy.Parameters().Certainty(),
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

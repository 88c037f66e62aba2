package ratelimittest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func storing(store func(*memoryHarness) ratelimit.EdgePort) flaw { return flaw{store: store} }

// Flaws in what is remembered, and how it is decided.

// openStore is Memory with the parts exposed that flaws replace.
type openStore struct {
	harness  *memoryHarness
	policies func() *ratelimit.Snapshot
	key      func(charge) any
	step     step

	mu     sync.Mutex
	states map[any]State
}

// step is Step, told what the state is kept under.
type step func(key any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict)

func soundStep(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	return Step(policy, state, now, cost)
}

func newOpenStore(h *memoryHarness) *openStore {
	return &openStore{
		harness: h, policies: h.catalog.Current, key: ownCounter, step: soundStep, states: make(map[any]State),
	}
}

func (s *openStore) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	one, refusal := precondition(ctx, s.policies(), request)
	if refusal != nil {
		return refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.key(one)
	state, verdict := s.step(key, one.policy, s.states[key], s.harness.time().UnixMilli(), one.cost)
	s.states[key] = state
	return outcomeOf(one.policy, verdict)
}

func keeping(key func(charge) any) flaw {
	return storing(func(h *memoryHarness) ratelimit.EdgePort {
		store := newOpenStore(h)
		store.key = key
		return store
	})
}

func ownCounter(c charge) any { return c.counter }

func onePerPolicyID(c charge) any {
	c.revision = 0
	return c.counter
}

func onePerRevision(c charge) any {
	c.counter.policy = ""
	return c.counter
}

func onePerQuota(c charge) any {
	c.cost = 0
	return c
}

func onePerFirstHalf(c charge) any {
	clear(c.subject[len(c.subject)/2:])
	c.scope = c.subject
	return c.counter
}

func onePerSecondHalf(c charge) any {
	clear(c.subject[:len(c.subject)/2])
	c.scope = c.subject
	return c.counter
}

func stepping(step step) flaw {
	return storing(func(h *memoryHarness) ratelimit.EdgePort {
		store := newOpenStore(h)
		store.step = step
		return store
	})
}

func admitOneMore(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	parameters, fixed := policy.Parameters().(ratelimit.FixedWindow)
	if !fixed {
		return Step(policy, state, now, cost)
	}
	parameters.Limit++
	next, verdict := Step(newPolicy(policy.ID(), policy.Revision(), parameters), state, now, cost)
	verdict.Remaining = max(0, verdict.Remaining-1)
	return next, verdict
}

func denyTheLastUnit(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	next, verdict := Step(policy, state, now, cost)
	if policy.Parameters().Algorithm() == ratelimit.FixedWindowAlgorithm && verdict.Allowed && verdict.Remaining == 0 {
		verdict.Allowed, verdict.RetryAfter = false, verdict.ResetAt-now
		return state, verdict
	}
	return next, verdict
}

func chargeOneForAnything(_ any, policy ratelimit.Policy, state State, now, _ int64) (State, Verdict) {
	return Step(policy, state, now, 1)
}

func chargeOneAfterAll(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	_, verdict := Step(policy, state, now, cost)
	if !verdict.Allowed {
		return state, verdict
	}
	next, _ := Step(policy, state, now, 1)
	return next, verdict
}

func countThenCompare(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	next, verdict := Step(policy, state, now, cost)
	if !verdict.Allowed && policy.Parameters().Algorithm() == ratelimit.FixedWindowAlgorithm {
		next.Current += cost
	}
	return next, verdict
}

func forgetEarly(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	if now-state.LastObserved > policy.Window().Milliseconds()/8 {
		state = State{}
	}
	return Step(policy, state, now, cost)
}

func remainingBelowZero(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	next, verdict := Step(policy, state, now, cost)
	if !verdict.Allowed && policy.Parameters().Algorithm() == ratelimit.FixedWindowAlgorithm {
		verdict.Remaining = policy.Quota() - state.Current
	}
	return next, verdict
}

// revisionsAsAtFirst compiles a policy once per revision.
func revisionsAsAtFirst(h *memoryHarness) ratelimit.EdgePort {
	store := newOpenStore(h)
	store.step = func(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
		return Step(h.asAtFirst(policy), state, now, cost)
	}
	return store
}

func limitOfTheFirstRequest(h *memoryHarness) ratelimit.EdgePort {
	stored := make(map[any]ratelimit.Policy)
	store := newOpenStore(h)
	store.step = func(key any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
		if _, known := stored[key]; !known {
			stored[key] = policy
		}
		return Step(stored[key], state, now, cost)
	}
	return store
}

// keepingTheAlgorithm holds to the algorithm that a subject first met under a
// policy ID.
func keepingTheAlgorithm(h *memoryHarness) ratelimit.EdgePort {
	sound := newOpenStore(h)
	var mu sync.Mutex
	kept := make(map[any]ratelimit.Algorithm)
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		one, refusal := precondition(ctx, h.catalog.Current(), request)
		if refusal != nil {
			return refusal
		}
		mu.Lock()
		defer mu.Unlock()
		of := onePerPolicyID(one)
		algorithm := one.policy.Parameters().Algorithm()
		if kept[of] == "" {
			kept[of] = algorithm
		}
		if kept[of] != algorithm {
			return AlwaysIncompatible(failure.State)(request)
		}
		return sound.Evaluate(ctx, request)
	})
}

func policiesAsAtFirst(h *memoryHarness) ratelimit.EdgePort {
	store := newOpenStore(h)
	store.policies = h.policiesAtFirst
	return store
}

// policiesAtFirst knows of overrides, but of no edit.
func (h *memoryHarness) policiesAtFirst() *ratelimit.Snapshot {
	if h.edited() {
		return h.start
	}
	return h.catalog.Current()
}

func withoutOverrides(h *memoryHarness) ratelimit.EdgePort {
	store := newOpenStore(h)
	store.policies = h.policiesOfEverybody
	return store
}

// policiesOfEverybody knows of no override.
func (h *memoryHarness) policiesOfEverybody() *ratelimit.Snapshot {
	return newSnapshot(h.catalog.Current().Policies()...)
}

// onTheWay is how long a request needs to a store and back.
const onTheWay = time.Millisecond

// lookingThenCharging leaves time for others between the two.
func lookingThenCharging(h *memoryHarness) ratelimit.EdgePort {
	store := newOpenStore(h)
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		one, refusal := precondition(ctx, h.catalog.Current(), request)
		if refusal != nil {
			return refusal
		}
		key := store.key(one)
		store.mu.Lock()
		state := store.states[key]
		store.mu.Unlock()
		time.Sleep(onTheWay)
		state, verdict := Step(one.policy, state, h.time().UnixMilli(), one.cost)
		store.mu.Lock()
		store.states[key] = state
		store.mu.Unlock()
		return outcomeOf(one.policy, verdict)
	})
}

func denyingOnContention(h *memoryHarness) ratelimit.EdgePort {
	store := newOpenStore(h)
	var busy atomic.Bool
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if !busy.CompareAndSwap(false, true) {
			return denies(request)
		}
		defer busy.Store(false)
		time.Sleep(onTheWay)
		return store.Evaluate(ctx, request)
	})
}

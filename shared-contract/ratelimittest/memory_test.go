package ratelimittest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

func newPolicy(t testing.TB, parameters ratelimit.Parameters) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "p", Revision: 1, Parameters: parameters, MaxCost: parameters.Quota(),
		CleanupGrace: time.Minute, MaxClockRegression: 250 * time.Millisecond, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// step is one evaluation at a moment, in ms, and what must come of it.
type step struct {
	at, cost  int64
	allowed   bool
	remaining int64
	retry     int64
}

// Ensure that the model follows traces whose results were worked out by hand.
func TestStepFollowsKnownTraces(t *testing.T) {
	second := time.Second
	for name, trace := range map[string]struct {
		parameters ratelimit.Parameters
		steps      []step
	}{
		"fixed window, both sides of a border": {
			ratelimit.FixedWindow{Limit: 10, Window: 60 * second},
			[]step{{59_900, 10, true, 0, 0}, {59_900, 1, false, 0, 100}, {60_100, 10, true, 0, 0}, {60_100, 1, false, 0, 59_900}},
		},
		"fixed window, remaining never negative": {
			ratelimit.FixedWindow{Limit: 3, Window: 60 * second},
			[]step{{0, 1, true, 2, 0}, {0, 1, true, 1, 0}, {0, 1, true, 0, 0}, {0, 1, false, 0, 60_000}, {0, 1, false, 0, 60_000}},
		},
		"sliding counter, the previous window counts": {
			ratelimit.SlidingCounter{Limit: 100, Window: 10 * second},
			[]step{{9_900, 100, true, 0, 0}, {10_500, 5, true, 0, 0}, {10_500, 1, false, 0, 100}},
		},
		"sliding counter, limit one": {
			ratelimit.SlidingCounter{Limit: 1, Window: second},
			[]step{{900, 1, true, 0, 0}, {1_100, 1, false, 0, 900}, {2_000, 1, true, 0, 0}},
		},
		"sliding counter, burst at a border": {
			ratelimit.SlidingCounter{Limit: 10, Window: 60 * second},
			[]step{{59_900, 10, true, 0, 0}, {60_100, 1, false, 0, 5_900}},
		},
		"bucket, idle does not overfill": {
			ratelimit.TokenBucket{Capacity: 5, RefillTokens: 1, RefillInterval: second},
			[]step{{0, 1, true, 4, 0}, {60_000, 1, true, 4, 0}},
		},
		"bucket, wait is divided by the rate": {
			ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillInterval: 2 * second},
			[]step{{0, 1, true, 0, 0}, {0, 1, false, 0, 2_000}, {1_999, 1, false, 0, 1}, {2_000, 1, true, 0, 0}},
		},
		"bucket, spent debt does not vanish": {
			ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: 10 * second},
			[]step{{0, 10, true, 0, 0}, {10_100, 1, true, 0, 0}, {10_100, 1, false, 0, 9_900}, {20_100, 1, true, 0, 0}, {20_100, 1, false, 0, 9_900}},
		},
		"a clock that runs back a little": {
			ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillInterval: second},
			[]step{{10_000, 1, true, 1, 0}, {9_800, 1, true, 0, 0}, {9_800, 1, false, 0, 1_200}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := newPolicy(t, trace.parameters)
			var state ratelimittest.State
			for i, want := range trace.steps {
				var got ratelimittest.Verdict
				state, got = ratelimittest.Step(policy, state, want.at, want.cost)
				if got.Allowed != want.allowed || got.Remaining != want.remaining || got.RetryAfter != want.retry {
					t.Fatalf("step %d: allowed %v, %d remaining, retry %d; must be %+v", i, got.Allowed, got.Remaining, got.RetryAfter, want)
				}
			}
		})
	}
}

// Ensure that a steady stream against a bucket is admitted at its rate: 3 per
// second asked every 100 ms for 10 s, from a full bucket of 3.
func TestSteadyStream(t *testing.T) {
	policy := newPolicy(t, ratelimit.TokenBucket{Capacity: 3, RefillTokens: 3, RefillInterval: time.Second})
	var state ratelimittest.State
	admitted := 0
	for at := int64(0); at < 10_000; at += 100 {
		var verdict ratelimittest.Verdict
		if state, verdict = ratelimittest.Step(policy, state, at, 1); verdict.Allowed {
			admitted++
		}
	}
	if admitted != 32 {
		t.Errorf("%d admitted, must be 32", admitted)
	}
}

// Ensure the properties that hold for every algorithm: the announced wait is the
// shortest that admits, remaining stays within the limit and falls by the cost,
// and a denial changes nothing.
func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		quota := 1 + random.Int64N(50)
		span := time.Duration(1+random.Int64N(5_000)) * time.Millisecond
		for _, parameters := range []ratelimit.Parameters{
			ratelimit.FixedWindow{Limit: quota, Window: span},
			ratelimit.SlidingCounter{Limit: quota, Window: span},
			ratelimit.TokenBucket{Capacity: quota, RefillTokens: 1 + random.Int64N(20), RefillInterval: span},
		} {
			policy := newPolicy(t, parameters)
			var state ratelimittest.State
			now := random.Int64N(100_000)
			for range 12 {
				now += random.Int64N(int64(span/time.Millisecond) + 1)
				cost := 1 + random.Int64N(quota)
				next, verdict := ratelimittest.Step(policy, state, now, cost)
				if verdict.Remaining < 0 || verdict.Remaining > quota || verdict.ResetAt < now {
					t.Fatalf("%+v at %d: %+v", parameters, now, verdict)
				}
				if verdict.Allowed {
					state = next
					continue
				}
				if next != state || verdict.RetryAfter < 1 {
					t.Fatalf("%+v at %d: a denial changed the state or says no wait: %+v", parameters, now, verdict)
				}
				if _, early := ratelimittest.Step(policy, state, now+verdict.RetryAfter-1, cost); early.Allowed {
					t.Fatalf("%+v, %+v at %d, cost %d: admitted before the announced wait of %d", parameters, state, now, cost, verdict.RetryAfter)
				}
				if _, late := ratelimittest.Step(policy, state, now+verdict.RetryAfter, cost); !late.Allowed {
					t.Fatalf("%+v, %+v at %d, cost %d: denied after the announced wait of %d", parameters, state, now, cost, verdict.RetryAfter)
				}
			}
		}
	}
}

// Ensure that Memory keeps the port's promises about requests and the clock.
func TestMemory(t *testing.T) {
	policy := newPolicy(t, ratelimit.FixedWindow{Limit: 5, Window: time.Minute})
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	memory := ratelimittest.NewMemory(ratelimit.NewCatalog(snapshot), func() time.Time { return now })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cancelled, cancelNow := context.WithTimeout(t.Context(), time.Minute)
	cancelNow()
	late, cancelLate := context.WithTimeout(t.Context(), -time.Second)
	defer cancelLate()

	for name, test := range map[string]struct {
		ctx     context.Context
		request ratelimit.Request
		want    ratelimit.Outcome
	}{
		"no deadline":   {t.Context(), newRequest(t, "p", 1), unavailable("p", failure.InvalidRequest)},
		"zero request":  {ctx, ratelimit.Request{}, unavailable("", failure.InvalidRequest)},
		"cancelled":     {cancelled, newRequest(t, "p", 1), unavailable("p", failure.Cancelled)},
		"too late":      {late, newRequest(t, "p", 1), unavailable("p", failure.DeadlineTooShort)},
		"cost too high": {ctx, newRequest(t, "p", 6), unavailable("p", failure.InvalidRequest)},
		"unknown policy": {ctx, newRequest(t, "q", 1), ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.UnknownPolicy}, PolicyID: "q",
		}},
	} {
		if got := memory.Evaluate(test.ctx, test.request); got != test.want {
			t.Errorf("%s: outcome is %+v, must be %+v", name, got, test.want)
		}
	}
	var callers sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	for range 20 {
		callers.Go(func() {
			if memory.Evaluate(ctx, newRequest(t, "p", 1)).(ratelimit.Evaluated).Decision.Allowed {
				mu.Lock()
				admitted++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	if admitted != 5 {
		t.Errorf("%d admitted, must be 5", admitted)
	}
	now = now.Add(-time.Second)
	want := ratelimit.Unavailable{
		Unavailable: failure.Unavailable{Category: failure.ClockUnsafe, RetryAfter: 750 * time.Millisecond}, PolicyID: "p",
	}
	if got := memory.Evaluate(ctx, newRequest(t, "p", 1)); got != want {
		t.Errorf("outcome is %+v, must be %+v", got, want)
	}
}

func unavailable(policyID string, category failure.Category) ratelimit.Outcome {
	return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category}, PolicyID: policyID}
}

func newRequest(t testing.TB, policyID string, cost int64) ratelimit.Request {
	t.Helper()
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{PolicyID: policyID, Subject: pseudonym.Digest{1}, Cost: cost})
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func ExampleMemory() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "calls", Revision: 1, MaxCost: 2, FailurePolicy: ratelimit.FailClosed,
		Parameters: ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillInterval: time.Second},
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	port := ratelimittest.NewMemory(ratelimit.NewCatalog(snapshot), func() time.Time { return now })
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{PolicyID: "calls", Subject: pseudonym.Digest{1}, Cost: 1})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		if outcome, ok := port.Evaluate(ctx, request).(ratelimit.Evaluated); ok {
			fmt.Println(outcome.Decision.Allowed, outcome.Decision.Remaining, outcome.Decision.RetryAfter)
		}
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1s
}

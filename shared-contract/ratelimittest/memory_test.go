package ratelimittest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

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

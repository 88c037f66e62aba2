package ratelimittest_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// tenancy holds a policy for users and one for tenants.
func tenancy(t testing.TB, user, tenant int64) *ratelimit.Snapshot {
	t.Helper()
	var policies []ratelimit.Policy
	for id, limit := range map[string]int64{"user": user, "tenant": tenant} {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID: id, Revision: 1, MaxCost: 2, FailurePolicy: ratelimit.FailClosed,
			CleanupGrace: time.Minute, MaxClockRegression: 250 * time.Millisecond,
			Parameters: ratelimit.SlidingLog{Limit: limit, Window: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// ofUser is a request of one unit for a user and the user's tenant.
func ofUser(t testing.TB, user, tenant byte, edits ...func(*ratelimit.LayeredRequestSpec)) ratelimit.LayeredRequest {
	t.Helper()
	spec := ratelimit.LayeredRequestSpec{Root: pseudonym.Digest{tenant}, Levels: []ratelimit.Level{
		{Name: "user", PolicyID: "user", Subject: pseudonym.Digest{user}, Cost: 1},
		{Name: "tenant", PolicyID: "tenant", Subject: pseudonym.Digest{tenant}, Cost: 1},
	}}
	for _, edit := range edits {
		edit(&spec)
	}
	request, err := ratelimit.NewLayeredRequest(spec)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// Ensure that a user's limit and that of all users together hold, and that none is
// charged for what the other refuses.
func TestMemoryOfTenants(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	memory := ratelimittest.NewMemory(ratelimit.NewCatalog(tenancy(t, 3, 10)), func() time.Time { return now })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, want := range []struct {
		user, tenant byte
		refusedBy    []string
		left         []int64
	}{
		{1, 200, nil, []int64{2, 9}},
		{1, 200, nil, []int64{1, 8}},
		{1, 200, nil, []int64{0, 7}},
		{1, 200, []string{"user"}, []int64{0, 7}},
		{2, 200, nil, []int64{2, 6}},
		{2, 200, nil, []int64{1, 5}},
		{2, 200, nil, []int64{0, 4}},
		{3, 200, nil, []int64{2, 3}},
		{3, 200, nil, []int64{1, 2}},
		{3, 200, nil, []int64{0, 1}},
		{4, 200, nil, []int64{2, 0}},
		{4, 200, []string{"tenant"}, []int64{2, 0}},
		{1, 200, []string{"user", "tenant"}, []int64{0, 0}},
		{1, 201, nil, []int64{2, 9}},
	} {
		outcome := memory.EvaluateLayers(ctx, ofUser(t, want.user, want.tenant))
		evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
		if !decided {
			t.Fatalf("call %d: outcome is %+v", i+1, outcome)
		}
		decision := evaluated.Decision
		var left []int64
		for _, level := range decision.Levels {
			left = append(left, level.Remaining)
		}
		if !slices.Equal(decision.RefusedBy(), want.refusedBy) || !slices.Equal(left, want.left) {
			t.Errorf("call %d: refused by %q, %d left; must be %q and %d", i+1, decision.RefusedBy(), left, want.refusedBy, want.left)
		}
	}
}

// Ensure that Memory says what it cannot decide, and at which level, and that the
// longest of several waits for the clock is named.
func TestMemoryRefusesLayers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	memory := ratelimittest.NewMemory(ratelimit.NewCatalog(tenancy(t, 3, 10)), func() time.Time { return now })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cancelled, cancelNow := context.WithTimeout(t.Context(), time.Minute)
	cancelNow()
	late, cancelLate := context.WithTimeout(t.Context(), -time.Second)
	defer cancelLate()

	unavailable := func(policyID string, category failure.Category, retryAfter time.Duration) ratelimit.LayeredOutcome {
		return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category, RetryAfter: retryAfter}, PolicyID: policyID}
	}
	tenant := func(edit func(*ratelimit.Level)) ratelimit.LayeredRequest {
		return ofUser(t, 1, 200, func(spec *ratelimit.LayeredRequestSpec) { edit(&spec.Levels[1]) })
	}
	for name, test := range map[string]struct {
		ctx     context.Context
		request ratelimit.LayeredRequest
		want    ratelimit.LayeredOutcome
	}{
		"no deadline":    {t.Context(), ofUser(t, 1, 200), unavailable("", failure.InvalidRequest, 0)},
		"zero request":   {ctx, ratelimit.LayeredRequest{}, unavailable("", failure.InvalidRequest, 0)},
		"cancelled":      {cancelled, ofUser(t, 1, 200), unavailable("", failure.Cancelled, 0)},
		"too late":       {late, ofUser(t, 1, 200), unavailable("", failure.DeadlineTooShort, 0)},
		"cost too high":  {ctx, tenant(func(l *ratelimit.Level) { l.Cost = 3 }), unavailable("tenant", failure.InvalidRequest, 0)},
		"limit too high": {ctx, tenant(func(l *ratelimit.Level) { l.Limit = 11 }), unavailable("tenant", failure.InvalidRequest, 0)},
		"unknown policy": {ctx, tenant(func(l *ratelimit.Level) { l.PolicyID = "q" }), ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.UnknownPolicy}, PolicyID: "q",
		}},
	} {
		if got := memory.EvaluateLayers(test.ctx, test.request); got != test.want {
			t.Errorf("%s: outcome is %+v, must be %+v", name, got, test.want)
		}
	}

	memory.EvaluateLayers(ctx, ofUser(t, 1, 200)) // all that the user's level sees
	now = now.Add(time.Second)
	memory.EvaluateLayers(ctx, ofUser(t, 2, 200))
	now = now.Add(-2 * time.Second)
	want := unavailable("tenant", failure.ClockUnsafe, 1_750*time.Millisecond)
	if got := memory.EvaluateLayers(ctx, ofUser(t, 1, 200)); got != want {
		t.Errorf("outcome is %+v, must be %+v", got, want)
	}
}

// Ensure what the layered doubles answer.
func TestLayeredDoubles(t *testing.T) {
	policies, request := tenancy(t, 3, 10), ofUser(t, 1, 200)
	type level struct {
		name      string
		allowed   bool
		limit     int64
		remaining int64
		wait      time.Duration
	}
	for name, test := range map[string]struct {
		port ratelimittest.LayeredAnswers
		want []level
	}{
		"allows": {ratelimittest.LayeredAlwaysAllows(policies), []level{{"user", true, 3, 2, 0}, {"tenant", true, 10, 9, 0}}},
		"denies": {
			ratelimittest.LayeredAlwaysDenies(policies, time.Second),
			[]level{{"user", false, 3, 0, time.Second}, {"tenant", false, 10, 0, time.Second}},
		},
		"denies at one level": {
			ratelimittest.LayeredAlwaysDenies(policies, time.Second, "tenant"),
			[]level{{"user", true, 3, 3, 0}, {"tenant", false, 10, 0, time.Second}},
		},
	} {
		evaluated, decided := test.port.EvaluateLayers(t.Context(), request).(ratelimit.LayeredEvaluated)
		if !decided {
			t.Fatalf("%s: outcome is no decision", name)
		}
		var got []level
		for _, l := range evaluated.Decision.Levels {
			got = append(got, level{l.Level, l.Allowed, l.Limit, l.Remaining, l.RetryAfter})
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: levels are %v, must be %v", name, got, test.want)
		}
	}
	for name, test := range map[string]struct {
		port ratelimittest.LayeredAnswers
		want ratelimit.LayeredOutcome
	}{
		"unknown policy": {ratelimittest.LayeredAlwaysAllows(new(ratelimit.Snapshot)), ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.UnknownPolicy}, PolicyID: "user",
		}},
		"unavailable": {ratelimittest.LayeredAlwaysUnavailable(failure.Saturated, time.Second), ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.Saturated, RetryAfter: time.Second},
		}},
		"indeterminate": {ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, time.Second), ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: failure.NoReply, RetryAfter: time.Second},
		}},
		"incompatible": {ratelimittest.LayeredAlwaysIncompatible(failure.Protocol), ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.Protocol},
		}},
	} {
		if got := test.port.EvaluateLayers(t.Context(), request); got != test.want {
			t.Errorf("%s: outcome is %+v, must be %+v", name, got, test.want)
		}
	}
}

// Ensure that a recorder hands on what it has seen, in order.
func TestLayeredRecorder(t *testing.T) {
	recorder := &ratelimittest.LayeredRecorder{Next: ratelimittest.LayeredAlwaysAllows(tenancy(t, 3, 10))}
	first, second := ofUser(t, 1, 200), ofUser(t, 2, 200)
	for _, request := range []ratelimit.LayeredRequest{first, second} {
		if _, decided := recorder.EvaluateLayers(t.Context(), request).(ratelimit.LayeredEvaluated); !decided {
			t.Error("the answer is not that of the next port")
		}
	}
	if got := recorder.Requests(); !reflect.DeepEqual(got, []ratelimit.LayeredRequest{first, second}) {
		t.Errorf("requests are %+v", got)
	}
}

func ExampleMemory_EvaluateLayers() {
	policy := func(id string, limit int64) ratelimit.Policy {
		p, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID: id, Revision: 1, MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
			Parameters: ratelimit.SlidingLog{Limit: limit, Window: time.Minute},
		})
		if err != nil {
			panic(err)
		}
		return p
	}
	snapshot, err := ratelimit.NewSnapshot(policy("per-user", 2), policy("per-tenant", 10))
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	port := ratelimittest.NewMemory(ratelimit.NewCatalog(snapshot), func() time.Time { return now })
	user, tenant := pseudonym.Digest{1}, pseudonym.Digest{2}
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: tenant, Levels: []ratelimit.Level{
		{Name: "user", PolicyID: "per-user", Subject: user, Cost: 1},
		{Name: "tenant", PolicyID: "per-tenant", Subject: tenant, Cost: 1},
	}})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		if outcome, ok := port.EvaluateLayers(ctx, request).(ratelimit.LayeredEvaluated); ok {
			decision := outcome.Decision
			fmt.Println(decision.Allowed(), decision.RefusedBy(), decision.Remaining(), decision.RetryAfter())
		}
	}
	// Output:
	// true [] 1 0s
	// true [] 0 0s
	// false [user] 0 1m0s
}

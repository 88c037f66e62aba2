package localport_test

import (
	"slices"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/internal/localport"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// userOf are a user of a tenant, and everybody.
func userOf(t *testing.T, user, tenant byte, cost int64) ratelimit.LayeredRequest {
	t.Helper()
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{
		Root: pseudonym.Digest{tenant},
		Levels: []ratelimit.Level{
			{Name: "user", PolicyID: "per-user", Subject: pseudonym.Digest{user}, Cost: cost},
			{Name: "everybody", PolicyID: "for-all", Subject: pseudonym.Digest{1}, Cost: cost, Shared: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// newLimiter decides by 2 per minute for users, and by 5 for everybody.
func newLimiter(t *testing.T) (*locallimit.Layers, func(ratelimit.Level) (ratelimit.Policy, bool)) {
	t.Helper()
	limiter, err := locallimit.NewLayers(10)
	if err != nil {
		t.Fatal(err)
	}
	return limiter, func(level ratelimit.Level) (ratelimit.Policy, bool) {
		limit := map[string]int64{"per-user": 2, "for-all": 5}[level.PolicyID]
		policy, err := localport.NewPolicy(level.PolicyID, 1, limit, time.Minute)
		return policy, err == nil
	}
}

// Ensure that levels are counted apart for each root, shared ones for all, and all
// of them or none; and that each decision names its level, policy and source.
func TestDecide(t *testing.T) {
	limiter, policyOf := newLimiter(t)
	for i, step := range []struct {
		user, tenant byte
		refusedBy    []string
		remaining    []int64
	}{
		{7, 2, nil, []int64{1, 4}},
		{7, 2, nil, []int64{0, 3}},
		{7, 2, []string{"user"}, []int64{0, 3}},
		{7, 3, nil, []int64{1, 2}}, // another tenant's
		{8, 3, nil, []int64{1, 1}},
		{8, 3, nil, []int64{0, 0}},
		{9, 3, []string{"everybody"}, []int64{2, 0}},
	} {
		request := userOf(t, step.user, step.tenant, 1)
		decision, decided := localport.Decide(limiter, request, policyOf)
		if !decided || !decision.Answers(request) {
			t.Fatalf("step %d: got %t %+v", i, decided, decision)
		}
		var remaining []int64
		for j, level := range request.Levels() {
			got := decision.Levels[j]
			remaining = append(remaining, got.Remaining)
			if want, _ := policyOf(level); got.Policy != want || got.Limit != want.Quota() || got.Source != localport.Process {
				t.Errorf("step %d: level %s is decided by %+v", i, level.Name, got)
			}
		}
		if got := decision.RefusedBy(); !slices.Equal(got, step.refusedBy) || !slices.Equal(remaining, step.remaining) {
			t.Errorf("step %d: refused by %q, left are %v, want %q and %v", i, got, remaining, step.refusedBy, step.remaining)
		}
	}
}

// Ensure that what cannot be decided charges nothing.
func TestDecideCannot(t *testing.T) {
	limiter, policyOf := newLimiter(t)
	onlyUsers := func(level ratelimit.Level) (ratelimit.Policy, bool) {
		policy, _ := policyOf(level)
		return policy, level.Name == "user"
	}
	if decision, decided := localport.Decide(limiter, userOf(t, 7, 2, 1), onlyUsers); decided {
		t.Errorf("without a policy it decides %+v", decision)
	}
	if decision, decided := localport.Decide(limiter, userOf(t, 7, 2, 3), policyOf); decided {
		t.Errorf("at a cost above the limit it decides %+v", decision)
	}
	decision, decided := localport.Decide(limiter, userOf(t, 7, 2, 2), policyOf)
	if !decided || !decision.Allowed() || decision.Remaining() != 0 {
		t.Errorf("afterwards got %t %+v, want the whole limit", decided, decision)
	}
}

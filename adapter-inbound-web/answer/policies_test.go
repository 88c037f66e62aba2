package answer_test

import (
	"testing"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// newPolicy is a policy with everything filled in that headers do not show.
func newPolicy(t testing.TB, id string, parameters ratelimit.Parameters) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      1,
		Parameters:    parameters,
		MaxCost:       1,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func perMinute(t testing.TB) ratelimit.Policy {
	return newPolicy(t, "edge-default", ratelimit.FixedWindow{Limit: 100, Window: time.Minute})
}

func newCatalog(t testing.TB, policies ...ratelimit.Policy) *ratelimit.Catalog {
	t.Helper()
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return ratelimit.NewCatalog(snapshot)
}

package main

import (
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

const (
	defaultPolicy   = "edge-default"
	calculatePolicy = "quote-calculate"
)

// newCatalog makes the policies: 100 requests in each minute of the clock for
// most, and for what is expensive bursts of 20 units, which come back at two a
// second.
func newCatalog() (*ratelimit.Catalog, error) {
	standard, err := newPolicy(defaultPolicy, ratelimit.FixedWindow{Limit: 100, Window: time.Minute})
	if err != nil {
		return nil, err
	}
	calculate, err := newPolicy(calculatePolicy, ratelimit.TokenBucket{Capacity: 20, RefillTokens: 2, RefillInterval: time.Second})
	if err != nil {
		return nil, err
	}
	snapshot, err := ratelimit.NewSnapshot(standard, calculate)
	if err != nil {
		return nil, err
	}
	return ratelimit.NewCatalog(snapshot), nil
}

func newPolicy(id string, parameters ratelimit.Parameters) (ratelimit.Policy, error) {
	return ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:                 id,
		Revision:           1,
		Parameters:         parameters,
		MaxCost:            10,
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	})
}

package ratelimittest

import (
	"fmt"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Numbers of the suite's policies.
const (
	quota   = 5
	maxCost = 3
	// long is a window that no run outlasts. Windows are aligned to the epoch, so
	// once in a hundred days, for a few seconds, one ends in the middle of a run.
	long = 100 * 24 * time.Hour
	// Short windows end while a test waits.
	short       = 400 * time.Millisecond
	shortRefill = 100 * time.Millisecond
)

// newCatalog holds every policy that clauses start with.
func newCatalog() *ratelimit.Catalog {
	policies := []ratelimit.Policy{twin()}
	policies = append(policies, lasting(quota)...)
	policies = append(policies, brief()...)
	return ratelimit.NewCatalog(newSnapshot(policies...))
}

// lasting are policies of every algorithm, with a quota of units, in which nothing
// expires while the suite runs.
func lasting(units int64) []ratelimit.Policy {
	return []ratelimit.Policy{
		newPolicy("lasting-fixed-window", 1, ratelimit.FixedWindow{Limit: units, Window: long}),
		newPolicy("lasting-sliding-counter", 1, ratelimit.SlidingCounter{Limit: units, Window: long}),
		newPolicy("lasting-sliding-log", 1, ratelimit.SlidingLog{Limit: units, Window: long}),
		newPolicy("lasting-token-bucket", 1, ratelimit.TokenBucket{Capacity: units, RefillTokens: 1, RefillInterval: long}),
	}
}

// brief are policies of every algorithm that are worth waiting for.
func brief() []ratelimit.Policy {
	return []ratelimit.Policy{
		newPolicy("brief-fixed-window", 1, ratelimit.FixedWindow{Limit: quota, Window: short}),
		newPolicy("brief-sliding-counter", 1, ratelimit.SlidingCounter{Limit: quota, Window: short}),
		newPolicy("brief-sliding-log", 1, ratelimit.SlidingLog{Limit: quota, Window: short}),
		newPolicy("brief-token-bucket", 1, ratelimit.TokenBucket{Capacity: quota, RefillTokens: 1, RefillInterval: shortRefill}),
	}
}

// fixedWindow is the policy of clauses to which the algorithm is all the same.
func fixedWindow() ratelimit.Policy { return lasting(quota)[0] }

// twin is fixedWindow by another name.
func twin() ratelimit.Policy { return newPolicy("twin", 1, fixedWindow().Parameters()) }

func newPolicy(id string, revision int64, parameters ratelimit.Parameters) ratelimit.Policy {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: id, Revision: revision, Parameters: parameters,
		MaxCost:            min(maxCost, parameters.Quota()),
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	})
	if err != nil {
		panic(fmt.Sprintf("ratelimittest: policy %s: %v", id, err))
	}
	return policy
}

func newSnapshot(policies ...ratelimit.Policy) *ratelimit.Snapshot {
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		panic(fmt.Sprintf("ratelimittest: %v", err))
	}
	return snapshot
}

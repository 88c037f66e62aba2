package legacy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// exampleConfig has a policy per minute for each ID. A program has a port over
// Redis instead of the model, and a secret of its own.
func exampleConfig(quotas map[string]int64) legacy.Config {
	policies := make([]ratelimit.Policy, 0, len(quotas))
	for id, quota := range quotas {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID:            id,
			Revision:      1,
			Parameters:    ratelimit.SlidingLog{Limit: quota, Window: time.Minute},
			MaxCost:       1,
			FailurePolicy: ratelimit.FailClosed,
		})
		if err != nil {
			panic(err)
		}
		policies = append(policies, policy)
	}
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		panic(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	return legacy.Config{
		Port:      ratelimittest.NewMemory(catalog, func() time.Time { return noon }),
		Catalog:   catalog,
		Pseudonym: exampleKey(),
	}
}

func exampleKey() *pseudonym.Key {
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	return secret.SubjectKey()
}

func ExampleKeyLimiter_Allow() {
	var limiter legacy.RateLimiter
	limiter, err := legacy.NewKeyLimiter(exampleConfig(map[string]int64{"key-minute": 100}), "key-minute")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Allow("alice", 2))
	fmt.Println(limiter.Allow("alice", 2))
	fmt.Println(limiter.Allow("alice", 2))
	fmt.Println(limiter.Allow("alice", 101))
	// Output:
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
	// false 0 limit: is 101, must be 1 to the policy's, 100
}

func ExampleDualLimiter_AllowDual() {
	var limiter legacy.DualLayerLimiter
	limiter, err := legacy.NewDualLimiter(
		exampleConfig(map[string]int64{"tenant-minute": 1000, "user-minute": 100}),
		legacy.DualPolicies{Tenant: "tenant-minute", User: "user-minute"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.AllowDual("acme", 10, "alice", 1))
	fmt.Println(limiter.AllowDual("acme", 10, "alice", 1))
	fmt.Println(limiter.AllowDual("acme", 10, "bob", 1))
	// Output:
	// true 9 0 <nil>
	// false 9 0 <nil>
	// true 8 0 <nil>
}

func ExampleNewLocalDualLimiter() {
	limiter, err := legacy.NewLocalDualLimiter(
		legacy.LocalConfig{MaxSubjects: 65536, Pseudonym: exampleKey()},
		legacy.DualWindows{Tenant: time.Minute, User: time.Minute},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.AllowDual("acme", 10, "alice", 1))
	fmt.Println(limiter.AllowDual("acme", 10, "alice", 1))
	// Output:
	// true 9 0 <nil>
	// false 9 0 <nil>
}

func ExampleHierarchicalLimiter_Allow() {
	var limiter legacy.Limiter
	limiter, err := legacy.NewHierarchicalLimiter(
		exampleConfig(map[string]int64{"agent-minute": 1, "org-minute": 10, "everybody": 100}),
		legacy.HierarchyPolicies{Agent: "agent-minute", Org: "org-minute", Global: "everybody"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		allowed, err := limiter.Allow(context.Background(), legacy.RateLimitRequest{AgentID: "crawler", OrgID: "acme"})
		if exceeded, ok := errors.AsType[legacy.ErrRateLimitExceeded](err); ok {
			fmt.Println(allowed, exceeded.Level, exceeded.RetryAfter)
			continue
		}
		fmt.Println(allowed, err)
	}
	// Output:
	// true <nil>
	// false agent 1m0s
}

// A limit that controls cost, and is no boundary of security, may be let go while
// the store is gone. The caller says so, and only for these failures.
func ExampleUndecidedError() {
	config := exampleConfig(map[string]int64{"key-minute": 100})
	config.Port = ratelimittest.LayeredAlwaysUnavailable(failure.Connection, time.Second)
	limiter, err := legacy.NewKeyLimiter(config, "key-minute")
	if err != nil {
		fmt.Println(err)
		return
	}
	allowed, _, err := limiter.Allow("alice", 2)
	fmt.Println(allowed, err)
	if undecided, ok := errors.AsType[legacy.UndecidedError](err); ok && undecided.StoreGone() {
		fmt.Println("let pass, and counted")
	}
	// Output:
	// false rate limit undecided, nothing was charged: connection
	// let pass, and counted
}

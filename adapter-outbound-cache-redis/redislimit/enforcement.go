package redislimit

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/ratelimit"
)

// enforcement is a policy with all that does not change from one evaluation to
// the next.
type enforcement struct {
	policy ratelimit.Policy
	call   execution.Call
	keys   rediskey.Family
}

// enforcements are those of one snapshot, by policy ID. A policy that this
// adapter cannot enforce is present without a value.
type enforcements struct {
	snapshot *ratelimit.Snapshot
	byID     map[string]*enforcement
}

func enforce(snapshot *ratelimit.Snapshot, keys rediskey.Builder) (*enforcements, error) {
	all := &enforcements{snapshot: snapshot, byID: make(map[string]*enforcement)}
	var unsupported error
	for _, policy := range snapshot.Policies() {
		one, err := newEnforcement(policy, keys)
		unsupported = errors.Join(unsupported, err)
		all.byID[policy.ID()] = one
	}
	return all, unsupported
}

func newEnforcement(policy ratelimit.Policy, keys rediskey.Builder) (*enforcement, error) {
	program, arguments, err := programOf(policy)
	if err != nil {
		return nil, err
	}
	return &enforcement{
		policy: policy,
		call:   execution.NewCall(program, arguments...),
		keys:   keys.Family("rate", policy.ID(), "state", policy.Revision(), string(policy.Parameters().Algorithm())),
	}, nil
}

// programOf gives the program that enforces policy and its arguments up to the
// cost, in the order of the manifest.
func programOf(policy ratelimit.Policy) (lua.Program, []string, error) {
	revision := integer(policy.Revision())
	bounds := []string{integer(policy.MaxCost()), millis(policy.CleanupGrace()), millis(policy.MaxClockRegression())}
	switch p := policy.Parameters().(type) {
	case ratelimit.FixedWindow:
		return lua.FixedWindow(), append([]string{revision, integer(p.Limit), millis(p.Window)}, bounds...), nil
	case ratelimit.SlidingCounter:
		return lua.SlidingCounter(), append([]string{revision, integer(p.Limit), millis(p.Window)}, bounds...), nil
	case ratelimit.TokenBucket:
		refill, interval := reduce(p.RefillTokens, p.RefillInterval.Milliseconds())
		return lua.TokenBucket(), append([]string{revision, integer(p.Capacity), integer(refill), integer(interval)}, bounds...), nil
	}
	return lua.Program{}, nil, fmt.Errorf("policy %s: no program for %s", policy.ID(), policy.Parameters().Algorithm())
}

// reduce divides both by their greatest common divisor.
func reduce(a, b int64) (int64, int64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x, b / x
}

func integer(n int64) string        { return strconv.FormatInt(n, 10) }
func millis(d time.Duration) string { return integer(d.Milliseconds()) }

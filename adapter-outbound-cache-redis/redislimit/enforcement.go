package redislimit

import (
	"errors"
	"fmt"
	"strconv"

	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/ratelimit"
)

// enforcement is a policy with all that does not change from one evaluation to
// the next.
type enforcement struct {
	policy  ratelimit.Policy
	program lua.Program
	line    string // the program's argument up to the cost
	keys    rediskey.Family
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
	program, line, err := programOf(policy)
	if err != nil {
		return nil, err
	}
	return &enforcement{
		policy:  policy,
		program: program,
		line:    line,
		keys:    keys.Family("rate", policy.ID(), "state", policy.Revision(), string(policy.Parameters().Algorithm())),
	}, nil
}

// argument is the program's argument for an evaluation of cost units.
func (e *enforcement) argument(cost int64) []byte {
	const digits = 15
	line := append(make([]byte, 0, len(e.line)+digits), e.line...)
	return strconv.AppendInt(line, cost, 10)
}

// programOf gives the program that enforces policy and its argument up to the
// cost, in the form of the manifest.
func programOf(policy ratelimit.Policy) (program lua.Program, line string, err error) {
	revision := policy.Revision()
	bounds := fmt.Sprintf("%d %d %d ", policy.MaxCost(), policy.CleanupGrace().Milliseconds(), policy.MaxClockRegression().Milliseconds())
	switch p := policy.Parameters().(type) {
	case ratelimit.FixedWindow:
		return lua.FixedWindow(), fmt.Sprintf("fw1:%d:%d %d %s", revision, p.Window.Milliseconds(), p.Limit, bounds), nil
	case ratelimit.SlidingCounter:
		return lua.SlidingCounter(), fmt.Sprintf("sc1:%d:%d %d %s", revision, p.Window.Milliseconds(), p.Limit, bounds), nil
	case ratelimit.TokenBucket:
		refill, interval := reduce(p.RefillTokens, p.RefillInterval.Milliseconds())
		return lua.TokenBucket(), fmt.Sprintf("tb1:%d:%d:%d %d %s", revision, refill, interval, p.Capacity, bounds), nil
	}
	return lua.Program{}, "", fmt.Errorf("policy %s: no program for %s", policy.ID(), policy.Parameters().Algorithm())
}

// reduce divides both by their greatest common divisor.
func reduce(a, b int64) (int64, int64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x, b / x
}

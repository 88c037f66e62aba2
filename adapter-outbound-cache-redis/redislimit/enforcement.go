package redislimit

import (
	"errors"
	"fmt"
	"strconv"

	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// enforcement is a policy with all that does not change from one evaluation to
// the next.
type enforcement struct {
	program  lua.Program
	identity string // the first word of the program's argument
	bounds   string // what stands between the maximum cost and the cost in it
	keys     rediskey.Family
}

// enforcements are those of one snapshot, by policy ID. A policy that this
// adapter cannot enforce is present without a value.
type enforcements struct {
	snapshot *ratelimit.Snapshot
	byID     map[string]*enforcement
}

// enforcementOf finds a policy by its ID, or says why it is not enforced.
func (e *enforcements) enforcementOf(policyID string) (*enforcement, undecided) {
	switch one, known := e.byID[policyID]; {
	case !known:
		return nil, incompatible(policyID, failure.UnknownPolicy)
	case one == nil:
		return nil, unavailable(policyID, failure.Unsupported)
	default:
		return one, nil
	}
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
	program, identity, err := programOf(policy)
	if err != nil {
		return nil, err
	}
	return &enforcement{
		program:  program,
		identity: identity,
		bounds:   fmt.Sprintf("%d %d", policy.CleanupGrace().Milliseconds(), policy.MaxClockRegression().Milliseconds()),
		keys:     keys.Family("rate", policy.ID(), "state", policy.Revision(), string(policy.Parameters().Algorithm())),
	}, nil
}

// argument is the program's argument, in the form of the manifest, for cost units
// under policy: the one that is enforced, or that with another quota.
func (e *enforcement) argument(policy ratelimit.Policy, cost int64) []byte {
	const numbers = 3 * len(" 999999999999999")
	line := append(make([]byte, 0, len(e.identity)+len(e.bounds)+numbers+1), e.identity...)
	line = strconv.AppendInt(append(line, ' '), policy.Quota(), 10)
	line = strconv.AppendInt(append(line, ' '), policy.MaxCost(), 10)
	line = append(append(line, ' '), e.bounds...)
	return strconv.AppendInt(append(line, ' '), cost, 10)
}

// programOf gives the program that enforces policy, and the identity of the state
// that it keeps.
func programOf(policy ratelimit.Policy) (program lua.Program, identity string, err error) {
	revision := policy.Revision()
	switch p := policy.Parameters().(type) {
	case ratelimit.FixedWindow:
		return lua.FixedWindow(), fmt.Sprintf("fw1:%d:%d", revision, p.Window.Milliseconds()), nil
	case ratelimit.SlidingCounter:
		return lua.SlidingCounter(), fmt.Sprintf("sc1:%d:%d", revision, p.Window.Milliseconds()), nil
	case ratelimit.SlidingLog:
		return lua.SlidingLog(), fmt.Sprintf("sl1:%d:%d", revision, p.Window.Milliseconds()), nil
	case ratelimit.TokenBucket:
		refill, interval := reduce(p.RefillTokens, p.RefillInterval.Milliseconds())
		return lua.TokenBucket(), fmt.Sprintf("tb1:%d:%d:%d", revision, refill, interval), nil
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

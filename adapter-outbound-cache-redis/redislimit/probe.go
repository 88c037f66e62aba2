package redislimit

import (
	"context"
	"fmt"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// probe is one program with policies that exercise all of its commands at every
// run, the arming of its keys' time-to-live included, and that deny nobody
// anything.
type probe struct {
	program  lua.Program
	operands []execution.Operand
}

// newProbes gives a probe for each program. That of several levels has a level of
// each algorithm.
func newProbes(keys rediskey.Builder) ([]probe, error) {
	var probes []probe
	layered := probe{program: lua.Layered()}
	for _, parameters := range []ratelimit.Parameters{
		ratelimit.FixedWindow{Limit: 1, Window: time.Millisecond},
		ratelimit.SlidingCounter{Limit: 1, Window: time.Millisecond},
		// What is read of a log is read only if there is one. This one lasts from one
		// run to the next, and the program of several levels has it in common.
		ratelimit.SlidingLog{Limit: ratelimit.MaxSlidingLogLimit, Window: time.Second},
		ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillInterval: time.Millisecond},
	} {
		spec := ratelimit.PolicySpec{
			ID:            "self-test",
			Revision:      1,
			Parameters:    parameters,
			MaxCost:       1,
			FailurePolicy: ratelimit.FailClosed,
		}
		family := keys.Family("probe", spec.ID, "state", spec.Revision, string(parameters.Algorithm()))
		one, err := newProbe(spec, family.Key(pseudonym.Digest{}, pseudonym.Digest{}))
		if err != nil {
			return nil, err
		}
		probes = append(probes, one)
		level := one.operands[0]
		if _, isLog := parameters.(ratelimit.SlidingLog); !isLog {
			level.Key = family.Key(pseudonym.Digest{}, pseudonym.Digest{1})
		}
		layered.operands = append(layered.operands, level)
	}
	return append(probes, layered), nil
}

func newProbe(spec ratelimit.PolicySpec, key string) (probe, error) {
	policy, err := ratelimit.NewPolicy(spec)
	if err != nil {
		return probe{}, err
	}
	enforced, err := newEnforcement(policy, rediskey.Builder{})
	if err != nil {
		return probe{}, err
	}
	return probe{
		program:  enforced.program,
		operands: []execution.Operand{{Key: key, Argument: enforced.argument(policy, 1)}},
	}, nil
}

// run is nil when the program came to a decision, be it a denial because another
// process probes in the same millisecond.
func (p probe) run(ctx context.Context, executor execution.Executor) *certainty.Failure {
	bound, finite := ctx.Deadline()
	if !finite {
		bound = time.Now().Add(MaxTimeout)
	}
	raw, failed := executor.Run(ctx, bound, p.program, p.operands...)
	if failed != nil {
		return failed
	}
	answers, err := reply.ParseLevels(raw, len(p.operands))
	if err != nil {
		return &certainty.Failure{Category: failure.Protocol, Err: err}
	}
	for _, answer := range answers {
		if !answer.Decides() {
			return &certainty.Failure{Category: categoryOf(answer.Status), Err: fmt.Errorf("the self-test answers %s", answer.Status)}
		}
	}
	return nil
}

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

// probe is one program with a policy that exercises all of its commands at every
// run, the arming of its key's time-to-live included, and that denies nobody
// anything.
type probe struct {
	program  lua.Program
	key      string
	argument []byte
}

func newProbes(keys rediskey.Builder) ([]probe, error) {
	var probes []probe
	for _, parameters := range []ratelimit.Parameters{
		ratelimit.FixedWindow{Limit: 1, Window: time.Millisecond},
		ratelimit.SlidingCounter{Limit: 1, Window: time.Millisecond},
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
	}
	return probes, nil
}

func newProbe(spec ratelimit.PolicySpec, key string) (probe, error) {
	policy, err := ratelimit.NewPolicy(spec)
	if err != nil {
		return probe{}, err
	}
	program, line, err := programOf(policy)
	if err != nil {
		return probe{}, err
	}
	return probe{program: program, key: key, argument: []byte(line + "1")}, nil
}

// run is nil when the program came to a decision, be it a denial because another
// process probes in the same millisecond.
func (p probe) run(ctx context.Context, executor execution.Executor) *certainty.Failure {
	bound, finite := ctx.Deadline()
	if !finite {
		bound = time.Now().Add(MaxTimeout)
	}
	raw, failed := executor.Run(ctx, bound, p.program, p.key, p.argument)
	if failed != nil {
		return failed
	}
	answer, err := reply.Parse(raw)
	if err != nil {
		return &certainty.Failure{Category: failure.Protocol, Err: err}
	}
	if answer.Status == reply.Allowed || answer.Status == reply.Denied {
		return nil
	}
	return &certainty.Failure{Category: undecided(answer.Status), Err: fmt.Errorf("the self-test answers %s", answer.Status)}
}

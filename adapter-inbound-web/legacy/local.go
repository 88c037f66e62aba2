package legacy

import (
	"context"
	"errors"
	"time"

	"example.com/weir/adapter-inbound-web/internal/localport"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// LocalConfig is what all limiters in this process alone have in common.
type LocalConfig struct {
	// MaxSubjects is how many tenants, users, agents or organisations have a window
	// of their own at the same time, at each level: 1 to [locallimit.MaxSubjects].
	MaxSubjects int
	// Pseudonym is the key of the subjects' digests: [pseudonym.Secret.SubjectKey].
	// Its secret need not outlive this process. Required.
	Pseudonym *pseudonym.Key
	// Addressing says what is one client by its network address.
	Addressing pseudonym.Addressing
}

// localLevel is a level that a limiter needs, and the ID of what stands for its
// policy.
type localLevel struct {
	name   string
	window time.Duration
	limit  int // anyLimit if calls give it
}

const anyLimit = locallimit.MaxLimit

// evaluator returns one that decides in this process, or the faults of c and of
// levels.
func (c LocalConfig) evaluator(levels ...localLevel) (*evaluator, error) {
	var faults ratelimit.Faults
	layers, err := locallimit.NewLayers(c.MaxSubjects)
	if fault, ok := errors.AsType[locallimit.FieldError](err); ok {
		faults.Add(fault.Field, "%s", fault.Problem)
	}
	checkPseudonyms(c.Pseudonym, c.Addressing, &faults)
	for _, l := range levels {
		faults.AddUnlessDuration(l.name+"-window", l.window, locallimit.MinWindow, locallimit.MaxWindow)
		faults.AddUnlessBetween(l.name+"-limit", int64(l.limit), 1, locallimit.MaxLimit)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	port := &localPort{layers: layers, policies: make(map[string]ratelimit.Policy)}
	for _, l := range levels {
		if port.policies[l.name], err = localport.NewPolicy(l.name, 1, int64(l.limit), l.window); err != nil {
			return nil, err
		}
	}
	return &evaluator{
		port:       port,
		key:        c.Pseudonym,
		addressing: c.Addressing,
		deadline:   DefaultDeadline, // which nobody waits for
		most:       func(ratelimit.Level) int64 { return locallimit.MaxLimit },
	}, nil
}

// localPort is the local limiter as a port, under one policy for each level.
type localPort struct {
	layers   *locallimit.Layers
	policies map[string]ratelimit.Policy // by their IDs
}

var _ ratelimit.LayeredPort = (*localPort)(nil)

// EvaluateLayers decides at once, unless the caller has given up.
func (p *localPort) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	if ctx.Err() != nil {
		return refused(failure.Cancelled)
	}
	decision, decided := localport.Decide(p.layers, request, p.policyOf)
	if !decided {
		return refused(failure.InvalidRequest)
	}
	return ratelimit.LayeredEvaluated{Decision: decision}
}

func (p *localPort) policyOf(level ratelimit.Level) (ratelimit.Policy, bool) {
	policy, known := p.policies[level.PolicyID]
	if !known {
		return ratelimit.Policy{}, false
	}
	policy, err := level.Effective(policy)
	return policy, err == nil
}

func refused(category failure.Category) ratelimit.Unavailable {
	return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category}}
}

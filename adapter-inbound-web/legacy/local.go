package legacy

import (
	"context"
	"errors"
	"time"

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
	port := &localPort{layers: layers, levels: make(map[string]localLevel)}
	for _, l := range levels {
		faults.AddUnlessDuration(l.name+"-window", l.window, locallimit.MinWindow, locallimit.MaxWindow)
		faults.AddUnlessBetween(l.name+"-limit", int64(l.limit), 1, locallimit.MaxLimit)
		port.levels[l.name] = l
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &evaluator{
		port:       port,
		key:        c.Pseudonym,
		addressing: c.Addressing,
		deadline:   DefaultDeadline, // which nobody waits for
		most:       func(ratelimit.Level) int64 { return locallimit.MaxLimit },
	}, nil
}

// localPort puts the local limiter into the contract's words, as far as this
// package asks. The levels of its requests are known by their policies' IDs.
type localPort struct {
	layers *locallimit.Layers
	levels map[string]localLevel
}

var _ ratelimit.LayeredPort = (*localPort)(nil)

// EvaluateLayers decides at once, unless the caller has given up.
func (p *localPort) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	if ctx.Err() != nil {
		return refused(failure.Cancelled)
	}
	charges := make([]locallimit.Charge, 0, request.Len())
	for _, level := range request.Levels() {
		charges = append(charges, p.charge(request, level))
	}
	results, err := p.layers.Take(charges)
	if err != nil {
		return refused(failure.InvalidRequest)
	}
	decisions := make([]ratelimit.LevelDecision, 0, request.Len())
	for i, level := range request.Levels() {
		decisions = append(decisions, decided(level, results[i]))
	}
	return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: decisions}}
}

func (p *localPort) charge(request ratelimit.LayeredRequest, level ratelimit.Level) locallimit.Charge {
	known := p.levels[level.PolicyID]
	limit := known.limit
	if level.Limit > 0 {
		limit = int(level.Limit)
	}
	scope := request.Scope(level)
	return locallimit.Charge{
		Counter: known.name,
		Key:     string(scope[:]) + string(level.Subject[:]),
		Limit:   limit,
		Window:  known.window,
		Cost:    int(level.Cost),
	}
}

func decided(level ratelimit.Level, result locallimit.Result) ratelimit.LevelDecision {
	return ratelimit.LevelDecision{
		Level: level.Name,
		Decision: ratelimit.Decision{
			Allowed:    result.Allowed,
			Limit:      int64(result.Limit),
			Remaining:  int64(result.Remaining),
			RetryAfter: result.RetryAfter,
			ResetAfter: result.Reset,
		},
	}
}

func refused(category failure.Category) ratelimit.Unavailable {
	return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category}}
}

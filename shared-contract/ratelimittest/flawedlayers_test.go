package ratelimittest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Flaws of ports of several levels, in a situation.

// layeredCall is one evaluation by a layered port that would otherwise be sound.
type layeredCall struct {
	situation

	sound   ratelimit.LayeredPort
	request ratelimit.LayeredRequest
}

func newLayeredCall(ctx context.Context, h *memoryHarness, sound ratelimit.LayeredPort, request ratelimit.LayeredRequest) layeredCall {
	_, refusal := layeredPrecondition(ctx, h.catalog.Current(), request)
	return layeredCall{situation{h, ctx, request.IsZero(), refusal}, sound, request}
}

func calling(evaluate func(layeredCall) ratelimit.LayeredOutcome) flaw {
	return flaw{layeredPort: func(h *memoryHarness, sound ratelimit.LayeredPort) ratelimit.LayeredPort {
		return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			return evaluate(newLayeredCall(ctx, h, sound, request))
		})
	}}
}

func whenLayered(in func(situation) bool, response func(layeredCall) ratelimit.LayeredOutcome) flaw {
	return calling(func(c layeredCall) ratelimit.LayeredOutcome {
		if !in(c.situation) {
			return c.soundly()
		}
		return response(c)
	})
}

// whenAny is whenLayered for requests with a level of some kind.
func whenAny(kind func(*memoryHarness, ratelimit.Level) bool, response func(layeredCall) ratelimit.LayeredOutcome) flaw {
	return calling(func(c layeredCall) ratelimit.LayeredOutcome {
		for _, level := range c.request.Levels() {
			if kind(c.harness, level) {
				return response(c)
			}
		}
		return c.soundly()
	})
}

func (c layeredCall) soundly() ratelimit.LayeredOutcome {
	return c.sound.EvaluateLayers(c.ctx, c.request)
}

func tooDearALevel(_ *memoryHarness, level ratelimit.Level) bool { return level.Cost > maxCost }

func tooDearForItsLimit(_ *memoryHarness, level ratelimit.Level) bool {
	return level.Limit > 0 && level.Limit < level.Cost
}

func limitedTooHigh(h *memoryHarness, level ratelimit.Level) bool {
	return level.Limit > quota && h.gives(level) == quota
}

func limitedAboveThePolicy(h *memoryHarness, level ratelimit.Level) bool {
	return level.Limit > quota && h.gives(level) != quota
}

func limitedAboveTheOverride(h *memoryHarness, level ratelimit.Level) bool {
	return level.Limit <= quota && level.Limit > h.gives(level)
}

func limitedBelow(h *memoryHarness, level ratelimit.Level) bool {
	return level.Limit > 0 && level.Limit < h.gives(level)
}

// gives is the quota that the policy gives the level's subject.
func (h *memoryHarness) gives(level ratelimit.Level) int64 {
	policy, known := h.catalog.Current().PolicyFor(level.PolicyID, level.Subject)
	if !known {
		return quota
	}
	return policy.Quota()
}

func ofUnknownPolicy(h *memoryHarness, level ratelimit.Level) bool {
	_, known := h.catalog.Current().Policy(level.PolicyID)
	return !known
}

func answersLayers(port ratelimit.LayeredPort) func(layeredCall) ratelimit.LayeredOutcome {
	return func(c layeredCall) ratelimit.LayeredOutcome { return port.EvaluateLayers(c.ctx, c.request) }
}

func chargesLayersAndAnswers(port ratelimit.LayeredPort) func(layeredCall) ratelimit.LayeredOutcome {
	return func(c layeredCall) ratelimit.LayeredOutcome {
		c.harness.layers.EvaluateLayers(c.ctx, c.request)
		return port.EvaluateLayers(c.ctx, c.request)
	}
}

var (
	allowsLayers = LayeredAlwaysAllows(newCatalog().Current())
	deniesLayers = LayeredAlwaysDenies(newCatalog().Current(), time.Second)
)

// decidesLayers overlooks what is wrong with the call, and levels that cannot be
// decided at all.
func decidesLayers(c layeredCall) ratelimit.LayeredOutcome {
	ctx, cancel := withDeadline()
	defer cancel()
	return c.sound.EvaluateLayers(ctx, edited(c.request, func(spec *ratelimit.LayeredRequestSpec) {
		spec.Levels = slices.DeleteFunc(spec.Levels, func(level ratelimit.Level) bool { return ofUnknownPolicy(c.harness, level) })
		for i, level := range spec.Levels {
			policy, _ := c.harness.catalog.Current().PolicyFor(level.PolicyID, level.Subject)
			spec.Levels[i].Limit = min(level.Limit, policy.Quota())
			if spec.Levels[i].Cost = min(maxCost, level.Cost); level.Limit > 0 {
				spec.Levels[i].Cost = min(spec.Levels[i].Cost, level.Limit)
			}
		}
	}))
}

func chargesLayersFirst(c layeredCall) ratelimit.LayeredOutcome {
	decidesLayers(c)
	return c.soundly()
}

func asksLayersAgain(c layeredCall) ratelimit.LayeredOutcome {
	c.harness.layers.EvaluateLayers(c.ctx, c.request)
	return c.soundly()
}

func asksTheFirstLevelAgain(c layeredCall) ratelimit.LayeredOutcome {
	c.harness.layers.EvaluateLayers(c.ctx, edited(c.request, func(spec *ratelimit.LayeredRequestSpec) {
		spec.Levels = spec.Levels[:1]
	}))
	return c.soundly()
}

func answersLayersLate(c layeredCall) ratelimit.LayeredOutcome {
	outcome := c.soundly()
	time.Sleep(Deadline + 2*lateness)
	return outcome
}

func answersLayersIfCancelled(outcome ratelimit.LayeredOutcome) func(layeredCall) ratelimit.LayeredOutcome {
	return func(c layeredCall) ratelimit.LayeredOutcome {
		sound := c.soundly()
		if cancelled(c.situation) {
			return outcome
		}
		return sound
	}
}

// blamesTheFirstLevel where a policy is to blame.
func blamesTheFirstLevel(c layeredCall) ratelimit.LayeredOutcome {
	outcome := c.soundly()
	for _, level := range c.request.Levels() {
		return blaming(outcome, level.PolicyID)
	}
	return outcome
}

// editing asks another request than it was asked.
func editing(edit func(*ratelimit.LayeredRequestSpec)) flaw {
	return calling(func(c layeredCall) ratelimit.LayeredOutcome {
		if c.refusal != nil {
			return c.soundly()
		}
		return c.sound.EvaluateLayers(c.ctx, edited(c.request, edit))
	})
}

func edited(request ratelimit.LayeredRequest, edit func(*ratelimit.LayeredRequestSpec)) ratelimit.LayeredRequest {
	spec := ratelimit.LayeredRequestSpec{Root: request.Root()}
	for _, level := range request.Levels() {
		spec.Levels = append(spec.Levels, level)
	}
	edit(&spec)
	next, err := ratelimit.NewLayeredRequest(spec)
	if err != nil {
		panic(err)
	}
	return next
}

func withoutLimits(spec *ratelimit.LayeredRequestSpec) {
	for i := range spec.Levels {
		spec.Levels[i].Limit = 0
	}
}

func sharingNothing(spec *ratelimit.LayeredRequestSpec) {
	for i := range spec.Levels {
		spec.Levels[i].Shared = false
	}
}

func sharingAmongRoots(spec *ratelimit.LayeredRequestSpec) {
	for i, level := range spec.Levels {
		if level.Shared {
			spec.Levels[i].Subject = like(level.Subject)
		}
	}
}

func underAnotherRoot(spec *ratelimit.LayeredRequestSpec) { spec.Root = like(spec.Root) }

func like(digest pseudonym.Digest) pseudonym.Digest {
	digest[len(digest)/2] ^= 1
	return digest
}

// alsoByItself charges the subjects of levels as if they had asked by themselves.
func alsoByItself(c layeredCall) ratelimit.LayeredOutcome {
	outcome := c.soundly()
	evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
	if decided && evaluated.Decision.Allowed() {
		for _, level := range c.request.Levels() {
			if c.request.Scope(level) != level.Subject {
				c.harness.store.Evaluate(c.ctx, newRequest(ratelimit.RequestSpec{PolicyID: level.PolicyID, Subject: level.Subject, Cost: 1}))
			}
		}
	}
	return outcome
}

// refusingMoreThan is a bound on levels that is too low.
func refusingMoreThan(levels int) flaw {
	return calling(func(c layeredCall) ratelimit.LayeredOutcome {
		if c.request.Len() > levels {
			return LayeredAlwaysUnavailable(failure.Unsupported, 0)(c.request)
		}
		return c.soundly()
	})
}

func lockedInTheProcessLayered(_ *memoryHarness, sound ratelimit.LayeredPort) ratelimit.LayeredPort {
	lock := make(chan struct{}, 1) // a mutex would keep the time of a bubble from passing
	return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		lock <- struct{}{}
		defer func() { <-lock }()
		return sound.EvaluateLayers(ctx, request)
	})
}

// sendingLayersLater keeps what it sent in vain, and sends it with the next call.
func sendingLayersLater(inVain func(situation) bool) flaw {
	return flaw{layeredPort: func(h *memoryHarness, sound ratelimit.LayeredPort) ratelimit.LayeredPort {
		var mu sync.Mutex
		var kept []ratelimit.LayeredRequest
		return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			c := newLayeredCall(ctx, h, sound, request)
			mu.Lock()
			if inVain(c.situation) {
				kept = append(kept, request)
			} else if c.refusal == nil {
				for _, late := range kept {
					h.layers.EvaluateLayers(ctx, late)
				}
				kept = nil
			}
			mu.Unlock()
			return c.soundly()
		})
	}}
}

// givingUpLayers is a circuit breaker that never closes again.
func givingUpLayers(inVain func(situation) bool) flaw {
	const bearable = 10
	return flaw{layeredPort: func(h *memoryHarness, sound ratelimit.LayeredPort) ratelimit.LayeredPort {
		var failures atomic.Int64
		return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			c := newLayeredCall(ctx, h, sound, request)
			if inVain(c.situation) {
				failures.Add(1)
			}
			if failures.Load() > bearable {
				return LayeredAlwaysUnavailable(failure.Connection, 0)(request)
			}
			return c.soundly()
		})
	}}
}

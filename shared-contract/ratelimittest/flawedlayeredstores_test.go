package ratelimittest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Flaws in what is remembered of several levels, and how it is decided.

// openLayeredStore is openStore for several levels.
type openLayeredStore struct {
	*openStore

	steps steps
}

// steps is StepLayers.
type steps func(now int64, layers ...Layer) ([]State, []Verdict)

func openingLayers(open func(*openLayeredStore)) flaw {
	return flaw{layers: func(h *memoryHarness) ratelimit.LayeredPort {
		store := &openLayeredStore{newOpenStore(h), StepLayers}
		h.store = store
		open(store)
		return store
	}}
}

func (s *openLayeredStore) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	all, refusal := layeredPrecondition(ctx, s.policies(), request)
	if refusal != nil {
		return refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	states, verdicts := s.steps(s.harness.time().UnixMilli(), s.look(all)...)
	s.charge(all, states)
	return layeredOutcomeOf(request, all, verdicts)
}

func (s *openLayeredStore) look(all []charge) []Layer {
	layers := make([]Layer, len(all))
	for i, one := range all {
		layers[i] = Layer{one.policy, s.states[s.key(one)], one.cost}
	}
	return layers
}

func (s *openLayeredStore) charge(all []charge, states []State) {
	for i, one := range all {
		s.states[s.key(one)] = states[i]
	}
}

func keepingLayers(key func(charge) any) flaw {
	return openingLayers(func(s *openLayeredStore) { s.key = key })
}

func steppingLayers(steps steps) flaw {
	return openingLayers(func(s *openLayeredStore) { s.steps = steps })
}

// Keys of levels whose subject is neither the root nor shared.

func onePerRoot(c charge) any {
	if c.scope != c.subject {
		clear(c.subject[:])
	}
	return c.counter
}

func onePerSubjectAndRoot(c charge) any {
	if c.scope != c.subject {
		c.counter.policy = ""
	}
	return c.counter
}

func onePerSubject(c charge) any {
	if c.scope != c.subject {
		clear(c.scope[:])
	}
	return c.counter
}

func onePerFirstHalfOfTheRoot(c charge) any {
	if c.scope != c.subject {
		clear(c.scope[len(c.scope)/2:])
	}
	return c.counter
}

func onePerSecondHalfOfTheRoot(c charge) any {
	if c.scope != c.subject {
		clear(c.scope[:len(c.scope)/2])
	}
	return c.counter
}

// chargingOnly keeps the charge of one level.
func chargingOnly(which func(layers []Layer) int) steps {
	return func(now int64, layers ...Layer) ([]State, []Verdict) {
		states, verdicts := StepLayers(now, layers...)
		for i, layer := range layers {
			if i != which(layers) {
				states[i] = layer.State
			}
		}
		return states, verdicts
	}
}

func theFirst([]Layer) int       { return 0 }
func theLast(layers []Layer) int { return len(layers) - 1 }

func chargeOneAtEveryLevel(now int64, layers ...Layer) ([]State, []Verdict) {
	layers = slices.Clone(layers)
	for i := range layers {
		layers[i].Cost = 1
	}
	return StepLayers(now, layers...)
}

func chargeTheFirstCostAtEveryLevel(now int64, layers ...Layer) ([]State, []Verdict) {
	layers = slices.Clone(layers)
	for i := range layers {
		layers[i].Cost = layers[0].Cost
	}
	return StepLayers(now, layers...)
}

// havingMore has more units in fixed windows, or less, than it says.
func havingMore(units int64) flaw {
	decide := func(now int64, layers ...Layer) ([]State, []Verdict) {
		changed := slices.Clone(layers)
		for i, layer := range layers {
			if window, fixed := layer.Policy.Parameters().(ratelimit.FixedWindow); fixed {
				window.Limit += units
				changed[i].Policy = newPolicy(layer.Policy.ID(), layer.Policy.Revision(), window)
			}
		}
		states, verdicts := StepLayers(now, changed...)
		for i, verdict := range verdicts {
			if verdict.Allowed && changed[i].Policy != layers[i].Policy {
				verdicts[i].Remaining = max(0, verdict.Remaining-units)
			}
		}
		return states, verdicts
	}
	return openingLayers(func(s *openLayeredStore) {
		s.steps = decide
		s.step = func(_ any, policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
			states, verdicts := decide(now, Layer{policy, state, cost})
			return states[0], verdicts[0]
		}
	})
}

// chargeWhatAdmits keeps, on a denial, the charges of levels that admit, as far as
// which says. It spares brief policies, whose waits count.
func chargeWhatAdmits(which func(refusing, i int) bool) steps {
	return func(now int64, layers ...Layer) ([]State, []Verdict) {
		states, verdicts := StepLayers(now, layers...)
		refusing := slices.IndexFunc(verdicts, func(v Verdict) bool { return !v.Allowed })
		if refusing < 0 || layers[0].Policy.Window() < long {
			return states, verdicts
		}
		for i, layer := range layers {
			if which(refusing, i) {
				states[i], _ = Step(layer.Policy, layer.State, now, layer.Cost)
			}
		}
		return states, verdicts
	}
}

func whatever(_, _ int) bool                { return true }
func beforeTheRefusal(refusing, i int) bool { return i < refusing }
func afterTheRefusal(refusing, i int) bool  { return i > refusing }

func remainingBelowZeroAtALevel(now int64, layers ...Layer) ([]State, []Verdict) {
	states, verdicts := StepLayers(now, layers...)
	for i, layer := range layers {
		if !verdicts[i].Allowed && layer.Policy.Parameters().Algorithm() == ratelimit.FixedWindowAlgorithm {
			verdicts[i].Remaining = layer.Policy.Quota() - layer.State.Current
		}
	}
	return states, verdicts
}

// lookingThenChargingLayers leaves time for others between the two.
func lookingThenChargingLayers(h *memoryHarness) ratelimit.LayeredPort {
	store := &openLayeredStore{newOpenStore(h), StepLayers}
	h.store = store
	return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		all, refusal := layeredPrecondition(ctx, h.catalog.Current(), request)
		if refusal != nil {
			return refusal
		}
		store.mu.Lock()
		layers := store.look(all)
		store.mu.Unlock()
		time.Sleep(onTheWay)
		states, verdicts := StepLayers(h.time().UnixMilli(), layers...)
		store.mu.Lock()
		store.charge(all, states)
		store.mu.Unlock()
		return layeredOutcomeOf(request, all, verdicts)
	})
}

func denyingLayersOnContention(h *memoryHarness) ratelimit.LayeredPort {
	store := &openLayeredStore{newOpenStore(h), StepLayers}
	h.store = store
	var busy atomic.Bool
	return layeredCalls(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		if !busy.CompareAndSwap(false, true) {
			return deniesLayers(request)
		}
		defer busy.Store(false)
		time.Sleep(onTheWay)
		return store.EvaluateLayers(ctx, request)
	})
}

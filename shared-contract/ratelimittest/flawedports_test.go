package ratelimittest

import (
	"context"
	"sync"
	"sync/atomic"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func lockedInTheProcess(_ *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	lock := make(chan struct{}, 1) // a mutex would keep the time of a bubble from passing
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		lock <- struct{}{}
		defer func() { <-lock }()
		return sound.Evaluate(ctx, request)
	})
}

func countingInTheProcess(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	own := NewMemory(h.catalog, h.time)
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if h.wire.Load() == wireCut {
			return sound.Evaluate(ctx, request)
		}
		outcome := own.Evaluate(ctx, request)
		if h.wire.Load() == wireMute {
			return sound.Evaluate(ctx, request)
		}
		return outcome
	})
}

func keepingTheFirstHalf(_ *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return withSubjects(sound, func(subject pseudonym.Digest) (kept pseudonym.Digest) {
		copy(kept[:len(kept)/2], subject[:])
		return kept
	})
}

func keepingTheSecondHalf(_ *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return withSubjects(sound, func(subject pseudonym.Digest) (kept pseudonym.Digest) {
		copy(kept[len(kept)/2:], subject[len(kept)/2:])
		return kept
	})
}

func withSubjects(sound ratelimit.EdgePort, kept func(pseudonym.Digest) pseudonym.Digest) ratelimit.EdgePort {
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if request.IsZero() {
			return sound.Evaluate(ctx, request)
		}
		return sound.Evaluate(ctx, newRequest(ratelimit.RequestSpec{
			PolicyID: request.PolicyID(), Subject: kept(request.Subject()), Cost: request.Cost(), EvaluationID: request.EvaluationID(),
		}))
	})
}

func newRequest(spec ratelimit.RequestSpec) ratelimit.Request {
	request, err := ratelimit.NewRequest(spec)
	if err != nil {
		panic(err)
	}
	return request
}

func namingPoliciesAsAtFirst(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	first := h.catalog.Current()
	return deciding(func(d *ratelimit.Decision) {
		if policy, known := first.Policy(d.Policy.ID()); known && policy.Revision() == d.Policy.Revision() {
			d.Policy = policy
		}
	}).port(h, sound)
}

func keepingRemovedPolicies(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	first := h.catalog.Current()
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		_, known := h.catalog.Current().Policy(request.PolicyID())
		if removed, once := first.Policy(request.PolicyID()); once && !known {
			return AlwaysAllows(removed)(request)
		}
		return sound.Evaluate(ctx, request)
	})
}

// sendingLater keeps what it sent in vain, and sends it with the next call.
func sendingLater(inVain func(call) bool) flaw {
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		var mu sync.Mutex
		var kept []ratelimit.Request
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			c := call{h, sound, ctx, request}
			mu.Lock()
			if inVain(c) {
				kept = append(kept, request)
			} else if c.reachesTheWire() {
				for _, late := range kept {
					h.store.Evaluate(ctx, late)
				}
				kept = nil
			}
			mu.Unlock()
			return sound.Evaluate(ctx, request)
		})
	}}
}

// givingUp is a circuit breaker that never closes again.
func givingUp(inVain func(call) bool) flaw {
	const bearable = 10
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		var failures atomic.Int64
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			if inVain(call{h, sound, ctx, request}) {
				failures.Add(1)
			}
			if failures.Load() > bearable {
				return AlwaysUnavailable(failure.Connection, 0)(request)
			}
			return sound.Evaluate(ctx, request)
		})
	}}
}

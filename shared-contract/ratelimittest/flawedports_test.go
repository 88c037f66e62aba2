package ratelimittest

import (
	"context"
	"sync"
	"sync/atomic"

	"example.com/weir/shared-contract/failure"
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

func newRequest(spec ratelimit.RequestSpec) ratelimit.Request {
	request, err := ratelimit.NewRequest(spec)
	if err != nil {
		panic(err)
	}
	return request
}

func namingPoliciesAsAtFirst(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return deciding(func(d *ratelimit.Decision) { d.Policy = h.asAtFirst(d.Policy) }).port(h, sound)
}

// asAtFirst is a policy as it was before it was edited.
func (h *memoryHarness) asAtFirst(policy ratelimit.Policy) ratelimit.Policy {
	if first, known := h.start.Policy(policy.ID()); known && h.edited() && first.Revision() == policy.Revision() {
		return first
	}
	return policy
}

func namingPoliciesOfEverybody(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return deciding(func(d *ratelimit.Decision) { d.Policy = h.ofEverybody(d.Policy) }).port(h, sound)
}

func namingLimitsOfEverybody(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return deciding(func(d *ratelimit.Decision) { d.Limit = h.ofEverybody(d.Policy).Quota() }).port(h, sound)
}

// ofEverybody is a policy without overrides.
func (h *memoryHarness) ofEverybody(policy ratelimit.Policy) ratelimit.Policy {
	policy, _ = h.catalog.Current().Policy(policy.ID())
	return policy
}

func keepingRemovedPolicies(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
	return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		_, known := h.catalog.Current().Policy(request.PolicyID())
		if removed, once := h.start.Policy(request.PolicyID()); once && !known {
			return AlwaysAllows(removed)(request)
		}
		return sound.Evaluate(ctx, request)
	})
}

// sendingLater keeps what it sent in vain, and sends it with the next call.
func sendingLater(inVain func(situation) bool) flaw {
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		var mu sync.Mutex
		var kept []ratelimit.Request
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			c := newCall(ctx, h, sound, request)
			mu.Lock()
			if inVain(c.situation) {
				kept = append(kept, request)
			} else if c.refusal == nil {
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
func givingUp(inVain func(situation) bool) flaw {
	const bearable = 10
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		var failures atomic.Int64
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			if inVain(newCall(ctx, h, sound, request).situation) {
				failures.Add(1)
			}
			if failures.Load() > bearable {
				return AlwaysUnavailable(failure.Connection, 0)(request)
			}
			return sound.Evaluate(ctx, request)
		})
	}}
}

package ratelimittest

import (
	"context"
	"errors"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Flaws in a situation.

// situation is what a call meets, whatever it asks.
type situation struct {
	harness *memoryHarness
	ctx     context.Context
	zero    bool // the request
	refusal any  // what a sound port refuses it with; nil if it does not
}

// call is one evaluation by a port that would otherwise be sound.
type call struct {
	situation

	sound   ratelimit.EdgePort
	request ratelimit.Request
}

func newCall(ctx context.Context, h *memoryHarness, sound ratelimit.EdgePort, request ratelimit.Request) call {
	_, refusal := precondition(ctx, h.catalog.Current(), request)
	return call{situation{h, ctx, request.IsZero(), refusal}, sound, request}
}

func when(in func(situation) bool, response func(call) ratelimit.Outcome) flaw {
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			c := newCall(ctx, h, sound, request)
			if !in(c.situation) {
				return sound.Evaluate(ctx, request)
			}
			return response(c)
		})
	}}
}

func zeroRequest(s situation) bool { return s.zero }
func tooLate(s situation) bool     { return errors.Is(s.ctx.Err(), context.DeadlineExceeded) }
func cancelled(s situation) bool   { return errors.Is(s.ctx.Err(), context.Canceled) }
func unreachable(s situation) bool { return s.refusal == nil && s.harness.wire.Load() == wireCut }
func silent(s situation) bool      { return s.refusal == nil && s.harness.wire.Load() == wireMute }
func identified(s situation) bool  { return s.refusedAs(failure.Unsupported) }

func tooDear(s situation) bool {
	return s.refusedAs(failure.InvalidRequest) && !s.zero && !withoutDeadline(s)
}

func withoutDeadline(s situation) bool {
	_, finite := s.ctx.Deadline()
	return !finite
}

func underNoPolicy(s situation) bool {
	_, incompatible := s.refusal.(ratelimit.Incompatible)
	return incompatible
}

func (s situation) refusedAs(category failure.Category) bool {
	unavailable, ok := s.refusal.(ratelimit.Unavailable)
	return ok && unavailable.Category == category
}

func answers(port ratelimit.EdgePort) func(call) ratelimit.Outcome {
	return func(c call) ratelimit.Outcome { return port.Evaluate(c.ctx, c.request) }
}

func chargesAndAnswers(port ratelimit.EdgePort) func(call) ratelimit.Outcome {
	return func(c call) ratelimit.Outcome {
		c.harness.store.Evaluate(c.ctx, c.request)
		return port.Evaluate(c.ctx, c.request)
	}
}

var (
	allows = AlwaysAllows(fixedWindow())
	denies = AlwaysDenies(fixedWindow(), time.Second)
)

// decides overlooks what is wrong with the call.
func decides(c call) ratelimit.Outcome {
	ctx, cancel := withDeadline()
	defer cancel()
	return c.sound.Evaluate(ctx, newRequest(ratelimit.RequestSpec{
		PolicyID: c.request.PolicyID(), Subject: c.request.Subject(), Cost: min(maxCost, c.request.Cost()),
	}))
}

func chargesFirst(c call) ratelimit.Outcome {
	decides(c)
	return c.sound.Evaluate(c.ctx, c.request)
}

func asksAgain(c call) ratelimit.Outcome {
	c.harness.store.Evaluate(c.ctx, c.request)
	return c.sound.Evaluate(c.ctx, c.request)
}

func answersLate(c call) ratelimit.Outcome {
	outcome := c.sound.Evaluate(c.ctx, c.request)
	time.Sleep(Deadline + 2*lateness)
	return outcome
}

// answersIfCancelled looks at the caller once more after the wait for a reply.
func answersIfCancelled(outcome ratelimit.Outcome) func(call) ratelimit.Outcome {
	return func(c call) ratelimit.Outcome {
		sound := c.sound.Evaluate(c.ctx, c.request)
		if cancelled(c.situation) {
			return outcome
		}
		return sound
	}
}

type ownType struct{ ratelimit.Unavailable }

package ratelimittest

import (
	"context"
	"errors"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Flaws in a situation.

// call is one evaluation by a port that would otherwise be sound.
type call struct {
	harness *memoryHarness
	sound   ratelimit.EdgePort
	ctx     context.Context
	request ratelimit.Request
}

func when(situation func(call) bool, response func(call) ratelimit.Outcome) flaw {
	return flaw{port: func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			c := call{harness: h, sound: sound, ctx: ctx, request: request}
			if !situation(c) {
				return sound.Evaluate(ctx, request)
			}
			return response(c)
		})
	}}
}

func zeroRequest(c call) bool { return c.request.IsZero() }
func identified(c call) bool  { return c.request.EvaluationID() != "" }
func tooDear(c call) bool     { return c.request.Cost() > maxCost }
func tooLate(c call) bool     { return errors.Is(c.ctx.Err(), context.DeadlineExceeded) }
func cancelled(c call) bool   { return errors.Is(c.ctx.Err(), context.Canceled) }
func unreachable(c call) bool { return c.reachesTheWire() && c.harness.wire.Load() == wireCut }
func silent(c call) bool      { return c.reachesTheWire() && c.harness.wire.Load() == wireMute }

func withoutDeadline(c call) bool {
	_, finite := c.ctx.Deadline()
	return !finite
}

func underNoPolicy(c call) bool {
	_, known := c.harness.catalog.Current().Policy(c.request.PolicyID())
	return !known && !c.request.IsZero()
}

func (c call) reachesTheWire() bool {
	_, refusal := precondition(c.ctx, c.harness.catalog.Current(), c.request)
	return refusal == nil
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
		if cancelled(c) {
			return outcome
		}
		return sound
	}
}

type ownType struct{ ratelimit.Unavailable }

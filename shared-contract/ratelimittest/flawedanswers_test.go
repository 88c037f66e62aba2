package ratelimittest

import (
	"context"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Flaws in what is answered.

func answering(edit func(ratelimit.Outcome) ratelimit.Outcome) flaw {
	return flaw{port: func(_ *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort {
		return calls(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			return edit(sound.Evaluate(ctx, request))
		})
	}}
}

func deciding(edit func(*ratelimit.Decision)) flaw {
	return answering(func(outcome ratelimit.Outcome) ratelimit.Outcome {
		evaluated, decided := outcome.(ratelimit.Evaluated)
		if !decided {
			return outcome
		}
		edit(&evaluated.Decision)
		return evaluated
	})
}

func admitting(edit func(*ratelimit.Decision)) flaw {
	return deciding(func(d *ratelimit.Decision) {
		if d.Allowed {
			edit(d)
		}
	})
}

func refusing(edit func(*ratelimit.Decision)) flaw {
	return deciding(func(d *ratelimit.Decision) {
		if !d.Allowed {
			edit(d)
		}
	})
}

// shiftReset leaves the moment of the decision as it was.
func shiftReset(d *ratelimit.Decision, by time.Duration) {
	d.ResetAfter += by
	d.ResetAt = d.ResetAt.Add(by)
}

func waitLonger(d *ratelimit.Decision) {
	d.RetryAfter += time.Millisecond
	shiftReset(d, time.Millisecond)
}

// stopTheClock spares brief policies, whose waits are measured by the clock.
func stopTheClock(d *ratelimit.Decision) {
	if d.Policy.Window() >= long {
		d.ResetAt = epoch.Add(d.ResetAfter)
	}
}

func pointerTo(outcome ratelimit.Outcome) ratelimit.Outcome {
	switch o := outcome.(type) {
	case ratelimit.Evaluated:
		return &o
	case ratelimit.Unavailable:
		return &o
	case ratelimit.Indeterminate:
		return &o
	case ratelimit.Incompatible:
		return &o
	default:
		return outcome
	}
}

func withoutPolicy(outcome ratelimit.Outcome) ratelimit.Outcome {
	switch o := outcome.(type) {
	case ratelimit.Evaluated:
	case ratelimit.Unavailable:
		o.PolicyID = ""
		return o
	case ratelimit.Indeterminate:
		o.PolicyID = ""
		return o
	case ratelimit.Incompatible:
		o.PolicyID = ""
		return o
	}
	return outcome
}

func withNegativeWait(outcome ratelimit.Outcome) ratelimit.Outcome {
	if unavailable, ok := outcome.(ratelimit.Unavailable); ok {
		unavailable.RetryAfter = -time.Second
		return unavailable
	}
	return outcome
}

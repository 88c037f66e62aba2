package ratelimittest

import (
	"context"
	"reflect"
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

func pointerTo[O any](outcome O) O {
	pointer := reflect.New(reflect.TypeOf(outcome))
	pointer.Elem().Set(reflect.ValueOf(outcome))
	return pointer.Interface().(O)
}

// blaming changes which policy a failure is about.
func blaming[O any](outcome O, policyID string) O {
	switch o := any(outcome).(type) {
	case ratelimit.Unavailable:
		o.PolicyID = policyID
		return any(o).(O)
	case ratelimit.Indeterminate:
		o.PolicyID = policyID
		return any(o).(O)
	case ratelimit.Incompatible:
		o.PolicyID = policyID
		return any(o).(O)
	default:
		return outcome
	}
}

func withoutPolicy[O any](outcome O) O { return blaming(outcome, "") }

func withNegativeWait[O any](outcome O) O {
	if unavailable, ok := any(outcome).(ratelimit.Unavailable); ok {
		unavailable.RetryAfter = -time.Second
		return any(unavailable).(O)
	}
	return outcome
}

package ratelimittest

import (
	"fmt"

	"example.com/weir/shared-contract/ratelimit"
)

// State is what is remembered of one subject under one policy. Which counts
// matter depends on the algorithm; the zero State is that of a new subject.
type State struct {
	// Seen is false for a new subject.
	Seen bool
	// LastObserved is the time of the last admission, in ms since the epoch.
	LastObserved int64
	// Current counts the units spent in the window of LastObserved.
	Current int64
	// Previous counts the units spent in the window before it (sliding counter).
	Previous int64
	// Debt is what a token bucket lacks from full at LastObserved, in units of
	// 1/interval token, where interval is in ms and reduced against the refill.
	Debt int64
}

// Verdict is what one step comes to. All times are in ms.
type Verdict struct {
	Allowed bool
	// ClockUnsafe: the clock ran back too far and nothing was decided.
	ClockUnsafe bool
	// Now is the clock that the step was given; Effective is Now or, when the
	// clock ran back a little, the last time observed.
	Now, Effective int64
	Remaining      int64
	// RetryAfter is counted from Now; zero on an admission.
	RetryAfter int64
	ResetAt    int64
}

// Step is the model: it evaluates cost under policy at now and returns the
// state afterwards, which is the given one unless the verdict is an admission.
// cost is 1 to the policy's maximum. It panics on parameters that it does not
// know.
func Step(policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	effective := now
	if state.Seen && state.LastObserved > now {
		bound := policy.MaxClockRegression().Milliseconds()
		if state.LastObserved-now > bound {
			return state, Verdict{ClockUnsafe: true, Now: now, Effective: now, RetryAfter: state.LastObserved - bound - now}
		}
		effective = state.LastObserved
	}
	var next State
	var verdict Verdict
	switch parameters := policy.Parameters().(type) {
	case ratelimit.FixedWindow:
		next, verdict = stepFixedWindow(parameters, state, effective, cost)
	case ratelimit.SlidingCounter:
		next, verdict = stepSlidingCounter(parameters, state, effective, cost)
	case ratelimit.TokenBucket:
		next, verdict = stepTokenBucket(parameters, state, effective, cost)
	default:
		panic(fmt.Sprintf("ratelimittest: no model of %T", parameters))
	}
	verdict.Now, verdict.Effective = now, effective
	if !verdict.Allowed {
		verdict.RetryAfter -= now
		return state, verdict
	}
	verdict.RetryAfter = 0
	next.Seen, next.LastObserved = true, effective
	return next, verdict
}

// The functions below put the moment of the next admission into RetryAfter.

func stepFixedWindow(p ratelimit.FixedWindow, state State, now, cost int64) (State, Verdict) {
	window := p.Window.Milliseconds()
	if now/window != state.LastObserved/window {
		state.Current = 0
	}
	end := (now/window + 1) * window
	verdict := Verdict{RetryAfter: end, ResetAt: end}
	if verdict.Allowed = state.Current <= p.Limit-cost; verdict.Allowed {
		state.Current += cost
	}
	verdict.Remaining = max(0, p.Limit-state.Current)
	return state, verdict
}

const weightScale = 1_000_000

func stepSlidingCounter(p ratelimit.SlidingCounter, state State, now, cost int64) (State, Verdict) {
	window := p.Window.Milliseconds()
	switch now/window - state.LastObserved/window {
	case 0:
	case 1:
		state.Previous, state.Current = state.Current, 0
	default:
		state.Previous, state.Current = 0, 0
	}
	end := (now/window + 1) * window
	weight := ceilDiv((end-now)*weightScale, window)
	carried := ceilDiv(state.Previous*weight, weightScale)
	spent := carried + state.Current

	var verdict Verdict
	if verdict.Allowed = spent <= p.Limit-cost; verdict.Allowed {
		state.Current += cost
		spent += cost
	} else if free := p.Limit - state.Current - cost; free >= 0 {
		// Enough of the previous window must have slid out.
		verdict.RetryAfter = end - free*weightScale/state.Previous*window/weightScale
	} else {
		// Not before this window is the previous one.
		verdict.RetryAfter = end + window - min(weightScale, (p.Limit-cost)*weightScale/state.Current)*window/weightScale
	}
	verdict.Remaining = max(0, p.Limit-spent)
	verdict.ResetAt = end
	if state.Current > 0 {
		verdict.ResetAt = end + window
	}
	return state, verdict
}

func stepTokenBucket(p ratelimit.TokenBucket, state State, now, cost int64) (State, Verdict) {
	rate, interval := p.RefillTokens, p.RefillInterval.Milliseconds()
	divisor := gcd(rate, interval)
	rate, interval = rate/divisor, interval/divisor

	if elapsed := now - state.LastObserved; elapsed >= ceilDiv(state.Debt, rate) {
		state.Debt = 0
	} else {
		state.Debt -= elapsed * rate
	}
	var verdict Verdict
	bearable := (p.Capacity - cost) * interval
	if verdict.Allowed = state.Debt <= bearable; verdict.Allowed {
		state.Debt += cost * interval
	} else {
		verdict.RetryAfter = now + ceilDiv(state.Debt-bearable, rate)
	}
	verdict.Remaining = max(0, p.Capacity*interval-state.Debt) / interval
	verdict.ResetAt = now + ceilDiv(state.Debt, rate)
	return state, verdict
}

func ceilDiv(n, d int64) int64 {
	if n%d > 0 {
		return n/d + 1
	}
	return n / d
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

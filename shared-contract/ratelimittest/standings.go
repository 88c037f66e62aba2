package ratelimittest

import (
	"fmt"
	"slices"

	"example.com/weir/shared-contract/ratelimit"
)

// standing is how a subject stands under a policy at one moment: the arithmetic
// of one algorithm. Its values are never changed. Times are in ms since the epoch.
type standing interface {
	// admits reports whether cost may be spent now.
	admits(cost int64) bool
	// admitsAt is the first moment at which a cost that is refused now may be spent.
	admitsAt(cost int64) int64
	// charged is the standing once cost is spent.
	charged(cost int64) standing
	// remaining is what is left, never negative.
	remaining() int64
	// resetAt is when the whole quota is there again; of a fixed window, its end.
	resetAt() int64
	// state is what must be remembered.
	state() State
}

func standingOf(parameters ratelimit.Parameters, state State, now int64) standing {
	switch p := parameters.(type) {
	case ratelimit.FixedWindow:
		return standingInWindow(p, state, now)
	case ratelimit.SlidingCounter:
		return standingInCounter(p, state, now)
	case ratelimit.SlidingLog:
		return standingInLog(p, state, now)
	case ratelimit.TokenBucket:
		return standingInBucket(p, state, now)
	default:
		panic(fmt.Sprintf("ratelimittest: no model of %T", parameters))
	}
}

type inWindow struct {
	limit, end int64
	spent      int64
}

func standingInWindow(p ratelimit.FixedWindow, state State, now int64) inWindow {
	window := p.Window.Milliseconds()
	if now/window != state.LastObserved/window {
		state.Current = 0
	}
	return inWindow{limit: p.Limit, end: (now/window + 1) * window, spent: state.Current}
}

func (w inWindow) admits(cost int64) bool { return w.spent <= w.limit-cost }
func (w inWindow) admitsAt(int64) int64   { return w.end }
func (w inWindow) remaining() int64       { return max(0, w.limit-w.spent) }
func (w inWindow) resetAt() int64         { return w.end }
func (w inWindow) state() State           { return State{Current: w.spent} }

func (w inWindow) charged(cost int64) standing {
	w.spent += cost
	return w
}

const weightScale = 1_000_000

type inCounter struct {
	limit, window     int64
	now, end          int64
	previous, current int64
}

func standingInCounter(p ratelimit.SlidingCounter, state State, now int64) inCounter {
	window := p.Window.Milliseconds()
	c := inCounter{limit: p.Limit, window: window, now: now, end: (now/window + 1) * window}
	switch now/window - state.LastObserved/window {
	case 0:
		c.previous, c.current = state.Previous, state.Current
	case 1:
		c.previous = state.Current
	}
	return c
}

func (c inCounter) estimate() int64 {
	weight := ceilDiv((c.end-c.now)*weightScale, c.window)
	return ceilDiv(c.previous*weight, weightScale) + c.current
}

func (c inCounter) admits(cost int64) bool { return c.estimate() <= c.limit-cost }

func (c inCounter) admitsAt(cost int64) int64 {
	if free := c.limit - c.current - cost; free >= 0 {
		// Enough of the previous window must have slid out.
		return c.end - free*weightScale/c.previous*c.window/weightScale
	}
	// Not before this window is the previous one.
	return c.end + c.window - min(weightScale, (c.limit-cost)*weightScale/c.current)*c.window/weightScale
}

func (c inCounter) charged(cost int64) standing {
	c.current += cost
	return c
}

func (c inCounter) remaining() int64 { return max(0, c.limit-c.estimate()) }

func (c inCounter) resetAt() int64 {
	switch {
	case c.current > 0:
		return c.end + c.window
	case c.previous > 0:
		return c.end
	default:
		return c.now
	}
}

func (c inCounter) state() State { return State{Previous: c.previous, Current: c.current} }

type inLog struct {
	limit, window, now int64
	counted            []Spent // the oldest first
	spent              int64
}

func standingInLog(p ratelimit.SlidingLog, state State, now int64) inLog {
	l := inLog{limit: p.Limit, window: p.Window.Milliseconds(), now: now}
	for _, entry := range state.Log {
		if entry.At > now-l.window {
			l.counted = append(l.counted, entry)
			l.spent += entry.Units
		}
	}
	return l
}

func (l inLog) admits(cost int64) bool { return l.spent <= l.limit-cost }

func (l inLog) admitsAt(cost int64) int64 {
	spent := l.spent
	for _, oldest := range l.counted {
		if spent -= oldest.Units; spent <= l.limit-cost {
			return oldest.At + l.window
		}
	}
	return l.resetAt()
}

func (l inLog) charged(cost int64) standing {
	l.counted = slices.Concat(l.counted, []Spent{{At: l.now, Units: cost}})
	l.spent += cost
	return l
}

func (l inLog) remaining() int64 { return max(0, l.limit-l.spent) }

func (l inLog) resetAt() int64 {
	if len(l.counted) == 0 {
		return l.now
	}
	return l.counted[len(l.counted)-1].At + l.window
}

func (l inLog) state() State { return State{Log: l.counted} }

type inBucket struct {
	capacity, rate, interval int64
	now                      int64
	debt                     int64 // in units of 1/interval token
}

func standingInBucket(p ratelimit.TokenBucket, state State, now int64) inBucket {
	rate, interval := p.RefillTokens, p.RefillInterval.Milliseconds()
	divisor := gcd(rate, interval)
	b := inBucket{capacity: p.Capacity, rate: rate / divisor, interval: interval / divisor, now: now}
	if elapsed := now - state.LastObserved; elapsed < ceilDiv(state.Debt, b.rate) {
		b.debt = state.Debt - elapsed*b.rate
	}
	return b
}

// bearable is the most debt at which cost may still be spent.
func (b inBucket) bearable(cost int64) int64 { return (b.capacity - cost) * b.interval }

func (b inBucket) admits(cost int64) bool { return b.debt <= b.bearable(cost) }

func (b inBucket) admitsAt(cost int64) int64 {
	return b.now + ceilDiv(b.debt-b.bearable(cost), b.rate)
}

func (b inBucket) charged(cost int64) standing {
	b.debt += cost * b.interval
	return b
}

func (b inBucket) remaining() int64 { return max(0, b.capacity*b.interval-b.debt) / b.interval }
func (b inBucket) resetAt() int64   { return b.now + ceilDiv(b.debt, b.rate) }
func (b inBucket) state() State     { return State{Debt: b.debt} }

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

package locallimit

import "time"

// counter knows what subjects have spent in the last span of time. Its times are
// counted from the start of its limiter, and never run backwards.
type counter struct {
	span     time.Duration
	width    time.Duration // of a slot, rounded up
	subjects *table
	overflow window // of all subjects that found no room
}

func newCounter(span time.Duration, maxSubjects int) *counter {
	return &counter{span: span, width: (span + Slots - 1) / Slots, subjects: newTable(maxSubjects)}
}

// account is what a counter knows of one subject.
type account struct {
	key   string
	known *subject // nil for a subject that is not in the table
	// window decides: the subject's own or, since some of what it admitted may
	// have been this subject's, the overflow window.
	window *window
}

// find gives the account of key at now. It holds until the counter is charged for
// a subject that is not in the table.
func (c *counter) find(key string, now time.Duration) account {
	a := account{key: key, known: c.subjects.find(key), window: &c.overflow}
	if a.known != nil {
		a.window = &a.known.window
	}
	a.window.discard(now - c.span)
	return a
}

// charge spends cost of a at now, and has a know it.
func (c *counter) charge(a *account, cost int, now time.Duration) {
	if a.known != nil {
		c.subjects.touch(a.known)
	} else if c.subjects.reclaim(now - c.span); !c.subjects.full() {
		a.known = c.subjects.add(a.key, a.window.clone())
		a.window = &a.known.window
	}
	a.window.admit(cost, now, c.width)
}

// allows reports whether cost can be spent without going beyond limit.
func (a account) allows(cost, limit int) bool { return cost <= limit-a.window.spent() }

// remaining is what is left of limit.
func (a account) remaining(limit int) int { return max(0, limit-a.window.spent()) }

// admitted says what is left of limit at now, after a charge or before one that
// is not made.
func (c *counter) admitted(a account, limit int, now time.Duration) Result {
	return Result{Allowed: true, Limit: limit, Remaining: a.remaining(limit), Reset: c.reset(a, now)}
}

// denied says when cost, which a does not allow, could be spent at the earliest.
func (c *counter) denied(a account, cost, limit int, now time.Duration) Result {
	return Result{
		Limit:      limit,
		Remaining:  a.remaining(limit),
		RetryAfter: a.window.lastBeyond(limit-cost) + c.span - now,
		Reset:      c.reset(a, now),
	}
}

// reset is how long after now the window of a is empty.
func (c *counter) reset(a account, now time.Duration) time.Duration {
	if a.window.idle(now - c.span) {
		return 0
	}
	return a.window.last() + c.span - now
}

// idle reports whether nothing is remembered at now.
func (c *counter) idle(now time.Duration) bool {
	return c.subjects.idle(now-c.span) && c.overflow.idle(now-c.span)
}

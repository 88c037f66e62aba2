package ratelimit

import (
	"math"
	"math/bits"
	"time"
)

// Algorithm names the family of a policy's parameters. Its text is public.
type Algorithm string

// Algorithms of this revision.
const (
	FixedWindowAlgorithm    Algorithm = "fixed-window"
	SlidingCounterAlgorithm Algorithm = "sliding-counter"
	SlidingLogAlgorithm     Algorithm = "sliding-log"
	TokenBucketAlgorithm    Algorithm = "token-bucket"
)

// exact is the largest integer up to which every integer is a double, which is
// what a store's scripting language may count with.
const exact = 1<<53 - 1

// maxSlidingCounter bounds a sliding counter's limit and its window in
// milliseconds: weights are scaled by 10^6, and the products stay exact.
const maxSlidingCounter = exact / 1_000_000

// Parameters are an algorithm and its numbers. What they answer is all that a
// caller needs to describe a policy to its clients; an adapter switches over
// the concrete types and refuses, at construction, those that it cannot do.
//
//sumtype:decl
type Parameters interface {
	// Algorithm names the family.
	Algorithm() Algorithm
	// Quota is the most that can be spent at once.
	Quota() int64
	// Span is the time that Quota refers to: the window, or how long an empty
	// bucket takes to fill, rounded up to a nanosecond.
	Span() time.Duration
	// Certainty says how decisions relate to the promise of the family.
	Certainty() Certainty

	check() Faults
	withQuota(int64) Parameters
}

// FixedWindow admits Limit units in each window. Windows are aligned to the
// Unix epoch, so up to twice Limit can pass around a window's end.
type FixedWindow struct {
	Limit  int64         // 1 to MaxQuota
	Window time.Duration // 1 ms to MaxWindow, whole milliseconds
}

// Algorithm is [FixedWindowAlgorithm].
func (FixedWindow) Algorithm() Algorithm { return FixedWindowAlgorithm }

// Quota is the limit.
func (w FixedWindow) Quota() int64 { return w.Limit }

// Span is the window.
func (w FixedWindow) Span() time.Duration { return w.Window }

// Certainty is [Certain].
func (FixedWindow) Certainty() Certainty { return Certain }

func (w FixedWindow) check() (faults Faults) {
	faults.AddUnlessBetween("limit", w.Limit, 1, MaxQuota)
	faults.AddUnlessDuration("window", w.Window, time.Millisecond, MaxWindow)
	return faults
}

func (w FixedWindow) withQuota(quota int64) Parameters {
	w.Limit = quota
	return w
}

// SlidingCounter admits about Limit units in any window's length: the count of
// the current window plus the share of the previous one that still overlaps.
// It assumes that the previous window was spent evenly, hence its decisions are
// approximate. The estimate is rounded up, against the subject.
type SlidingCounter struct {
	Limit  int64         // 1 to 9,007,199,254
	Window time.Duration // 1 ms to 9,007,199,254 ms (104 days), whole milliseconds
}

// Algorithm is [SlidingCounterAlgorithm].
func (SlidingCounter) Algorithm() Algorithm { return SlidingCounterAlgorithm }

// Quota is the limit.
func (c SlidingCounter) Quota() int64 { return c.Limit }

// Span is the window.
func (c SlidingCounter) Span() time.Duration { return c.Window }

// Certainty is [ApproximateAlgorithm].
func (SlidingCounter) Certainty() Certainty { return ApproximateAlgorithm }

func (c SlidingCounter) check() (faults Faults) {
	faults.AddUnlessBetween("limit", c.Limit, 1, maxSlidingCounter)
	faults.AddUnlessDuration("window", c.Window, time.Millisecond, maxSlidingCounter*time.Millisecond)
	return faults
}

func (c SlidingCounter) withQuota(quota int64) Parameters {
	c.Limit = quota
	return c
}

// MaxSlidingLogLimit bounds the limit of a [SlidingLog], and with it what a
// subject's log takes.
const MaxSlidingLogLimit = 10_000

// SlidingLog admits Limit units in any window's length. It is exact, and pays for
// that with memory: it remembers each admission of the last window.
type SlidingLog struct {
	Limit  int64         // 1 to MaxSlidingLogLimit
	Window time.Duration // 1 ms to MaxWindow, whole milliseconds
}

// Algorithm is [SlidingLogAlgorithm].
func (SlidingLog) Algorithm() Algorithm { return SlidingLogAlgorithm }

// Quota is the limit.
func (l SlidingLog) Quota() int64 { return l.Limit }

// Span is the window.
func (l SlidingLog) Span() time.Duration { return l.Window }

// Certainty is [Certain].
func (SlidingLog) Certainty() Certainty { return Certain }

func (l SlidingLog) check() (faults Faults) {
	faults.AddUnlessBetween("limit", l.Limit, 1, MaxSlidingLogLimit)
	faults.AddUnlessDuration("window", l.Window, time.Millisecond, MaxWindow)
	return faults
}

func (l SlidingLog) withQuota(quota int64) Parameters {
	l.Limit = quota
	return l
}

// TokenBucket admits what its tokens pay for. A bucket holds at most Capacity
// tokens, starts full, and gains RefillTokens per RefillInterval evenly, by the
// millisecond.
type TokenBucket struct {
	Capacity       int64         // 1 to MaxQuota
	RefillTokens   int64         // 1 to MaxQuota
	RefillInterval time.Duration // 1 ms to MaxWindow, whole milliseconds; × Capacity at most 2^53-1 ms
}

// Algorithm is [TokenBucketAlgorithm].
func (TokenBucket) Algorithm() Algorithm { return TokenBucketAlgorithm }

// Quota is the capacity.
func (b TokenBucket) Quota() int64 { return b.Capacity }

// Span is how long an empty bucket takes to fill.
func (b TokenBucket) Span() time.Duration {
	high, low := bits.Mul64(uint64(b.Capacity), uint64(b.RefillInterval))
	if high >= uint64(b.RefillTokens) {
		return math.MaxInt64
	}
	span, rest := bits.Div64(high, low, uint64(b.RefillTokens))
	if rest > 0 {
		span++
	}
	if span > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(span)
}

// Certainty is [Certain].
func (TokenBucket) Certainty() Certainty { return Certain }

func (b TokenBucket) check() (faults Faults) {
	faults.AddUnlessBetween("capacity", b.Capacity, 1, MaxQuota)
	faults.AddUnlessBetween("refill-tokens", b.RefillTokens, 1, MaxQuota)
	faults.AddUnlessDuration("refill-interval", b.RefillInterval, time.Millisecond, MaxWindow)
	if len(faults) > 0 {
		return faults
	}
	if b.Capacity > exact/b.RefillInterval.Milliseconds() {
		faults.Add("capacity", "times refill-interval in milliseconds is above %d", int64(exact))
	}
	if span := b.Span(); span > MaxWindow {
		faults.Add("refill-interval", "fills an empty bucket in more than %v", MaxWindow)
	}
	return faults
}

func (b TokenBucket) withQuota(quota int64) Parameters {
	b.Capacity = quota
	return b
}

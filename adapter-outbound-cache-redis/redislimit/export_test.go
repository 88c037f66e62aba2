package redislimit

import (
	"time"

	"github.com/sony/gobreaker/v2"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
)

// NewBreakerForTest lets evaluations through a breaker, each of which has until a
// bound and is then reported, and tells whether the breaker is open.
func NewBreakerForTest(config Breaker) (begin func(bound time.Time) func(*certainty.Failure), isOpen func() bool) {
	b := newBreaker(config)
	begin = func(bound time.Time) func(*certainty.Failure) {
		report, _ := b.pass(bound)
		return report
	}
	return begin, func() bool { return b.circuit.State() == gobreaker.StateOpen }
}

// Waiting is how many evaluations of a limiter with batched dispatch wait to be
// sent.
func (l *Limiter) Waiting() int { return l.executor.(*execution.Batched).Waiting() }

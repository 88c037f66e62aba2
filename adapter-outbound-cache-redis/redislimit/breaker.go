package redislimit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Bounds of a [Breaker].
const (
	MaxBreakerFailures = 1_000_000
	MaxBreakerOpenFor  = time.Minute
)

// Breaker says when a server that does not answer is left alone. Then each
// evaluation is refused at once, as Unavailable(connection), instead of waiting
// for its timeout; and from time to time one is let through to see.
type Breaker struct {
	// Failures is how many evaluations in a row must go unanswered, while no other
	// one is answered. An error reply is an answer. 1 to MaxBreakerFailures.
	Failures int
	// OpenFor is how long evaluations are then refused before the next one is let
	// through, and so the most that a recovery goes unnoticed. 1 ms to
	// MaxBreakerOpenFor.
	OpenFor time.Duration
}

func (b Breaker) check(faults *ratelimit.Faults) {
	faults.AddUnlessBetween("breaker.failures", int64(b.Failures), 1, MaxBreakerFailures)
	faults.AddUnlessDuration("breaker.open-for", b.OpenFor, time.Millisecond, MaxBreakerOpenFor)
}

var (
	errOpen = errors.New("open: redis does not answer, evaluations are refused at once")

	errUnanswered    = errors.New("unanswered")
	errNothingLearnt = errors.New("ended for a reason of this process")
)

// breaker is a circuit breaker around the dispatch.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	born    time.Time
	// answered is when the server last answered an evaluation, since born.
	answered atomic.Int64
}

func newBreaker(b Breaker) *breaker {
	return &breaker{born: time.Now(), circuit: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     b.OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return int(counts.ConsecutiveFailures) >= b.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNothingLearnt) },
	})}
}

// overdue is how long after its bound an evaluation ends in a process that has too
// much to do. Elsewhere a timer is noticed within a millisecond.
const overdue = 20 * time.Millisecond

func isOverdue(bound time.Time) bool { return time.Since(bound) > overdue }

// pass asks whether an evaluation may be dispatched. If so, what becomes of it must
// be reported, for which it has until bound.
func (b *breaker) pass(bound time.Time) (report func(*certainty.Failure), passes bool) {
	tell, err := b.circuit.Allow()
	if err != nil {
		return nil, false
	}
	began := time.Since(b.born)
	return func(failed *certainty.Failure) { tell(b.lesson(failed, began, bound)) }, true
}

// lesson is what is learnt from an evaluation that began when it did, since born;
// nil that the server answers. If the server has answered another one since, or if
// the end of this one was noticed late, it is this process that has too much to do.
func (b *breaker) lesson(failed *certainty.Failure, began time.Duration, bound time.Time) error {
	switch {
	case failed != nil && blameless(failed):
		return errNothingLearnt
	case failed == nil, failed.Category != failure.Connection && failed.Category != failure.NoReply:
		b.answered.Store(int64(time.Since(b.born))) // an error reply is an answer
		return nil
	case b.answered.Load() > int64(began), isOverdue(bound):
		return errNothingLearnt
	default:
		return errUnanswered
	}
}

// CheckBreaker tells whether evaluations are dispatched at all.
func (l *Limiter) CheckBreaker(context.Context) error {
	if l.breaker.circuit.State() == gobreaker.StateOpen {
		return errOpen
	}
	return nil
}

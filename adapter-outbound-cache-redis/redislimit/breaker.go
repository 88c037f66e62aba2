package redislimit

import (
	"context"
	"errors"
	"os"
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
	// Failures is how many evaluations in a row must go unanswered. An error
	// reply is an answer. 1 to MaxBreakerFailures.
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
	fair    time.Duration // what a server must have had to answer in
}

// newBreaker takes an evaluation for unanswered if the server had half of what a
// command may take.
func newBreaker(b Breaker, commandTimeout time.Duration) breaker {
	return breaker{fair: commandTimeout / 2, circuit: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     b.OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return int(counts.ConsecutiveFailures) >= b.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNothingLearnt) },
	})}
}

// pass asks whether an evaluation may be dispatched. If so, the lesson of it must
// be reported.
func (b breaker) pass() (report func(lesson error), passes bool) {
	report, err := b.circuit.Allow()
	return report, err == nil
}

// learn takes into account what became of an evaluation whose caller had left. In a
// process that has too much to do callers leave although the server answers.
func (b breaker) learn(failed *certainty.Failure) {
	if report, passes := b.pass(); passes {
		report(b.lesson(failed))
	}
}

// lesson is what the breaker learns from an evaluation; nil that the server
// answers.
func (b breaker) lesson(failed *certainty.Failure) error {
	switch {
	case failed == nil:
		return nil
	case blameless(failed):
		return errNothingLearnt
	case failed.Category == failure.NoReply && failed.Waited < b.fair && errors.Is(failed.Err, os.ErrDeadlineExceeded):
		return errNothingLearnt // this process sent it late
	case failed.Category == failure.Connection, failed.Category == failure.NoReply:
		return errUnanswered
	}
	return nil // an error reply is an answer
}

// CheckBreaker tells whether evaluations are dispatched at all.
func (l *Limiter) CheckBreaker(context.Context) error {
	if l.breaker.circuit.State() == gobreaker.StateOpen {
		return errOpen
	}
	return nil
}

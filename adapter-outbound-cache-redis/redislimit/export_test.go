package redislimit

import (
	"errors"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
)

// Learns is what a breaker learns from an evaluation: that the server answers, that
// it does not, or nothing.
func Learns(failed *certainty.Failure, commandTimeout time.Duration) string {
	switch err := newBreaker(Breaker{Failures: 1, OpenFor: time.Second}, commandTimeout).lesson(failed); {
	case err == nil:
		return "answers"
	case errors.Is(err, errUnanswered):
		return "is silent"
	default:
		return "nothing"
	}
}

// Waiting is how many evaluations of a limiter with batched dispatch wait to be
// sent.
func (l *Limiter) Waiting() int { return l.executor.(*execution.Batched).Waiting() }

// Package measure takes the measurements of a run. What is compared is measured
// in rounds, one after the other in each, so that a machine that changes its
// pace does so for all of them.
package measure

import (
	"context"
	"log/slog"
	"regexp"
	"time"
)

// Plan says what is measured, and for how long.
type Plan struct {
	// Address is the server's host:port. Nobody else uses the server.
	Address string
	// Rounds is an odd number, so that a median is one of the measurements.
	Rounds int
	// Callers are the numbers of callers that contenders are asked by.
	Callers []int
	// Duration is that of one measurement, after a warm-up.
	Duration time.Duration
	// Only chooses by name what is measured.
	Only *regexp.Regexp
	// Logger hears of the progress.
	Logger *slog.Logger
}

// WarmUp is how long a load runs before it is measured.
const WarmUp = 100 * time.Millisecond

// InRounds measures count things in each round. Each round starts with another
// one, so that none always follows the same one.
func InRounds[R any](ctx context.Context, rounds, count int, measure func(ctx context.Context, i int) (R, error)) ([][]R, error) {
	all := make([][]R, rounds)
	for round := range rounds {
		all[round] = make([]R, count)
		for step := range count {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i := (round + step) % count
			row, err := measure(ctx, i)
			if err != nil {
				return nil, err
			}
			all[round][i] = row
		}
	}
	return all, nil
}

// micros is a duration per something in microseconds.
func micros(total time.Duration, count int64) float64 {
	return float64(total) / float64(time.Microsecond) / float64(count)
}

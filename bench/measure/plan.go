// Package measure takes the measurements of a run. What is compared is measured
// in rounds, one after the other in each, so that a machine that changes its
// pace does so for all of them.
package measure

import (
	"context"
	"log/slog"
	"math/rand/v2"
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

// orderSeed is any number.
const orderSeed = 1

// InRounds measures count things in each round. Each round has an order of its
// own, the same in every run, so that none always follows the same one.
func InRounds[R any](ctx context.Context, rounds, count int, measure func(ctx context.Context, i int) (R, error)) ([][]R, error) {
	order := rand.New(rand.NewPCG(orderSeed, orderSeed))
	all := make([][]R, rounds)
	for round := range rounds {
		all[round] = make([]R, count)
		for _, i := range order.Perm(count) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
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

//go:build system

package redislimit_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// morning is ten minutes into a window of every policy of hourly.
var morning = time.Date(2030, time.March, 4, 9, 10, 0, 0, time.UTC)

// clockBound is how far the clock may run back.
const clockBound = 10 * time.Second

// timed is a limiter over a server whose clock the test sets.
type timed struct {
	algorithm string
	limiter   *redislimit.Limiter
	clock     *redistest.Clock
	client    *redis.Client
}

// eachAlgorithmOnAClock runs f for every algorithm, in the morning, with nobody
// having asked yet. The quota of each policy is 5 per hour.
func eachAlgorithmOnAClock(t *testing.T, f func(t *testing.T, at timed)) {
	server, clock := redistest.StartWithClock(t, morning)
	client := server.Client(t)
	for name, parameters := range hourly() {
		t.Run(name, func(t *testing.T) {
			clock.Set(t, morning)
			client.FlushAll(t.Context())
			spec := policySpec("p", parameters)
			spec.MaxClockRegression = clockBound
			f(t, timed{algorithm: name, limiter: newLimiter(t, config(t, server.Addr, spec)), clock: clock, client: client})
		})
	}
}

// ask sets the clock and spends one unit.
func (at timed) ask(t *testing.T, now time.Time) ratelimit.Outcome {
	t.Helper()
	at.clock.Set(t, now)
	return evaluate(t, at.limiter, request(t, "p", "somebody", 1))
}

// admits sets the clock and counts how many of several requests are admitted.
func (at timed) admits(t *testing.T, now time.Time) (admitted int) {
	t.Helper()
	for range 12 {
		if label(at.ask(t, now)) == "allowed" {
			admitted++
		}
	}
	return admitted
}

// Ensure that a clock that trembles within the bound brings nobody a unit more
// than the quota, nor takes one, not even at the border of two windows.
func TestSystemClockTrembles(t *testing.T) {
	trembling := []time.Duration{
		0, -clockBound, -time.Millisecond, 0, time.Second, -clockBound + time.Second, -time.Second, time.Second,
		0, -clockBound / 2, clockBound / 2, -clockBound / 2,
	}
	border := morning.Add(50 * time.Minute)
	eachAlgorithmOnAClock(t, func(t *testing.T, at timed) {
		admitted := 0
		for _, by := range trembling {
			switch outcome := label(at.ask(t, border.Add(by))); outcome {
			case "allowed":
				admitted++
			case "denied":
			default:
				t.Errorf("clock moved by %v: outcome is %q, must be a decision", by, outcome)
			}
		}
		if admitted != 5 {
			t.Errorf("%d were admitted, must be 5", admitted)
		}
	})
}

// Ensure that a clock that ran back beyond the bound decides nothing and leaves
// the key as it is, and that the announced wait ends when the clock is within
// the bound again, to the millisecond.
func TestSystemClockRunsBack(t *testing.T) {
	eachAlgorithmOnAClock(t, func(t *testing.T, at timed) {
		wantLabel(t, at.ask(t, morning), "allowed")
		key := onlyKey(t, at.client)
		before := image(t, at.client, key)

		for _, beyond := range []time.Duration{time.Millisecond, time.Minute, 2 * time.Hour, 31 * 24 * time.Hour, 3650 * 24 * time.Hour} {
			outcome := at.ask(t, morning.Add(-clockBound-beyond))
			wantLabel(t, outcome, "unavailable clock-unsafe")
			if wait := outcome.(ratelimit.Unavailable).RetryAfter; wait != beyond {
				t.Errorf("%v beyond the bound: told to wait %v", beyond, wait)
			}
			wantLabel(t, at.ask(t, morning.Add(-clockBound-time.Millisecond)), "unavailable clock-unsafe")
		}
		if image(t, at.client, key) != before {
			t.Error("a refusal changed the key")
		}

		if admitted := at.admits(t, morning.Add(-clockBound)); admitted != 4 {
			t.Errorf("within the bound again %d are admitted, must be the 4 that were left", admitted)
		}
	})
}

// Ensure that a clock that jumps ahead brings what the time would have brought,
// and never more than the quota.
func TestSystemClockRunsAhead(t *testing.T) {
	jumps := []struct {
		name                       string
		by                         time.Duration
		fixed, sliding, log, token int // admitted afterwards
	}{
		{"a millisecond before a token is there", 12*time.Minute - time.Millisecond, 0, 0, 0, 0},
		{"a token later", 12 * time.Minute, 0, 0, 0, 1},
		{"a millisecond before the window's end", 50*time.Minute - time.Millisecond, 0, 0, 0, 4},
		{"the window's end", 50 * time.Minute, 5, 0, 0, 4},
		{"a millisecond before an hour later", time.Hour - time.Millisecond, 5, 0, 0, 4},
		{"an hour later", time.Hour, 5, 0, 5, 5},
		{"in the middle of the next window", 80 * time.Minute, 5, 2, 5, 5},
		{"the next window's end", 110 * time.Minute, 5, 5, 5, 5},
		{"a month", 31 * 24 * time.Hour, 5, 5, 5, 5},
		{"ten years", 3650 * 24 * time.Hour, 5, 5, 5, 5},
	}
	eachAlgorithmOnAClock(t, func(t *testing.T, at timed) {
		for _, jump := range jumps {
			at.client.FlushAll(t.Context())
			if admitted := at.admits(t, morning); admitted != 5 {
				t.Fatalf("%d were admitted, must be 5", admitted)
			}
			want := map[string]int{"fixed-window": jump.fixed, "sliding-counter": jump.sliding, "sliding-log": jump.log, "token-bucket": jump.token}[at.algorithm]
			if admitted := at.admits(t, morning.Add(jump.by)); admitted != want {
				t.Errorf("%s: %d are admitted, must be %d", jump.name, admitted, want)
			}
		}
	})
}

// Ensure that the units which were spent while the clock was ahead are not lost
// when it is put right: nobody is admitted until it is back there, less the
// bound.
func TestSystemClockIsPutRight(t *testing.T) {
	const ahead = 3 * 24 * time.Hour
	eachAlgorithmOnAClock(t, func(t *testing.T, at timed) {
		wantLabel(t, at.ask(t, morning.Add(ahead)), "allowed")
		outcome := at.ask(t, morning)
		wantLabel(t, outcome, "unavailable clock-unsafe")
		if wait, want := outcome.(ratelimit.Unavailable).RetryAfter, ahead-clockBound; wait != want {
			t.Errorf("told to wait %v, must be %v", wait, want)
		}
		if admitted := at.admits(t, morning.Add(ahead-clockBound)); admitted != 4 {
			t.Errorf("at the announced time %d are admitted, must be the 4 that were left", admitted)
		}
	})
}

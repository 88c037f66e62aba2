package locallimit_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

const day = 24 * time.Hour

func newLimiter(t testing.TB, limit int, window time.Duration, maxSubjects int) *locallimit.Limiter {
	t.Helper()
	limiter, err := locallimit.New(locallimit.Config{Limit: limit, Window: window, MaxSubjects: maxSubjects})
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// exhaust takes until key is denied, and returns how many were admitted.
func exhaust(limiter *locallimit.Limiter, key string) int {
	admitted := 0
	for limiter.Take(key).Allowed {
		admitted++
	}
	return admitted
}

// Ensure that each trace of one subject is admitted as a sliding window admits
// it: one letter for each request, a for admitted and d for denied.
func TestTraces(t *testing.T) {
	at := func(milliseconds ...int) []int { return milliseconds }
	burst := func(n, millisecond int) []int { return slices.Repeat([]int{millisecond}, n) }
	steady := func(n, every int) []int {
		times := make([]int, n)
		for i := range times {
			times[i] = i * every
		}
		return times
	}
	repeat := func(verdicts string, n int) []byte { return slices.Repeat([]byte(verdicts), n) }
	tests := []struct {
		name   string
		limit  int
		window time.Duration
		times  []int // in ms
		want   []byte
	}{
		{"a burst up to the limit", 3, time.Minute, burst(5, 0), []byte("aaadd")},
		{"a limit of one", 1, 10 * time.Second, at(0, 9_999, 10_000), []byte("ada")},
		{"a frozen clock", 10, time.Minute, burst(100, 0), append(repeat("a", 10), repeat("d", 90)...)},
		{"a steady stream above the limit", 3, time.Second, steady(100, 100), repeat("aaaddddddd", 10)},
		{"a steady stream below the limit", 5, 2 * time.Second, steady(22, 900), repeat("a", 22)},
		{"a request per window", 1, 2 * time.Second, steady(300, 2_000), repeat("a", 300)},
		{"bursts on both sides of a minute's end", 10, time.Minute, append(burst(10, 59_900), burst(10, 60_100)...),
			append(repeat("a", 10), repeat("d", 10)...)},
		{"the window is not anchored at the first request", 3, time.Minute, at(0, 50_000, 55_000, 60_000, 60_000), []byte("aaaad")},
		{"a full window that has passed", 5, 2 * time.Second, append(burst(5, 0), 2_000), []byte("aaaaaa")},
		{"denials spend nothing", 1, time.Second, at(0, 500, 900, 999, 1_000), []byte("addda")},
		{"a long pause", 2, time.Second, at(0, 0, 3_600_000, 3_600_000, 3_600_000), []byte("aaaad")},
		{"the shortest window", 2, time.Millisecond, at(0, 0, 0, 1, 1, 1), []byte("aadaad")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, test.limit, test.window, 1)
				start := time.Now()
				var got []byte
				for _, millisecond := range test.times {
					time.Sleep(time.Until(start.Add(time.Duration(millisecond) * time.Millisecond)))
					verdict := byte('d')
					if limiter.Take("subject").Allowed {
						verdict = 'a'
					}
					got = append(got, verdict)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

// Ensure that remaining counts down to zero and no further.
func TestRemaining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 3, time.Minute, 1)
		for i, want := range []int{2, 1, 0, 0, 0} {
			if got := limiter.Take("subject"); got.Remaining != want || got.Limit != 3 {
				t.Errorf("request %d: %d of %d remain, want %d of 3", i+1, got.Remaining, got.Limit, want)
			}
		}
		time.Sleep(day)
		if got := limiter.Take("subject"); got.Remaining != 2 {
			t.Errorf("after a day %d remain, want 2", got.Remaining)
		}
	})
}

// Ensure that the 61st request of a minute is told how long to wait, that it is
// admitted after exactly that time, and not earlier.
func TestRetryAfterIsExact(t *testing.T) {
	tests := []struct {
		name   string
		limit  int
		window time.Duration
		gap    time.Duration // between the requests that exhaust the limit
		want   time.Duration
	}{
		{"60 per minute at once", 60, time.Minute, 0, time.Minute},
		{"slower than slots", 30, time.Minute, 1500 * time.Millisecond, 60*time.Second - 30*1500*time.Millisecond},
		// 16 requests share the first slot, which is a second long, and leave with
		// the last of them.
		{"faster than slots", 100, time.Minute, time.Second / 16, 60*time.Second + 15*time.Second/16 - 100*time.Second/16},
		{"the whole is not a multiple of slots", 1, 1500 * time.Millisecond, 100 * time.Millisecond, 1400 * time.Millisecond},
		{"a month", 2, 31 * day, day, 29 * day},
		{"a millisecond", 1, time.Millisecond, 1, time.Millisecond - 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, test.limit, test.window, 1)
				for i := range test.limit {
					if got := limiter.Take("subject"); !got.Allowed || got.RetryAfter != 0 {
						t.Fatalf("request %d got %+v, want it admitted", i+1, got)
					}
					time.Sleep(test.gap)
				}
				denied := limiter.Take("subject")
				if denied.Allowed || denied.RetryAfter != test.want {
					t.Fatalf("got %+v, want a denial for %v", denied, test.want)
				}
				time.Sleep(denied.RetryAfter - 1)
				if early := limiter.Take("subject"); early.Allowed || early.RetryAfter != 1 {
					t.Errorf("a nanosecond early got %+v, want a denial for 1ns", early)
				}
				time.Sleep(1)
				if got := limiter.Take("subject"); !got.Allowed {
					t.Errorf("after %v got %+v, want it admitted", denied.RetryAfter, got)
				}
			})
		})
	}
}

// Ensure that around every end of a window the durations stay in their ranges,
// so that a header made of them is never zero, negative or beyond the window.
func TestDurationsStayInRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 2 * time.Second
		limiter := newLimiter(t, 1, window, 1)
		for start := time.Now(); time.Since(start) < 10*window; time.Sleep(5 * time.Millisecond) {
			got := limiter.Take("subject")
			if got.Allowed != (got.RetryAfter == 0) {
				t.Fatalf("after %v got %+v", time.Since(start), got)
			}
			if got.RetryAfter < 0 || got.RetryAfter > window || got.Reset <= 0 || got.Reset > window {
				t.Fatalf("after %v got %+v", time.Since(start), got)
			}
		}
	})
}

// Ensure that a subject that waits for the reset has its whole limit again, and
// not a moment earlier.
func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 5, time.Minute, 1)
		limiter.Take("subject")
		time.Sleep(20 * time.Second)
		if got := limiter.Take("subject"); got.Reset != time.Minute {
			t.Errorf("reset of an admission is %v, want 1m", got.Reset)
		}
		exhaust(limiter, "subject")
		time.Sleep(7 * time.Second)
		denied := limiter.Take("subject")
		if denied.Reset != 53*time.Second || denied.RetryAfter != 33*time.Second {
			t.Errorf("got %+v, want a reset in 53s and a retry in 33s", denied)
		}
		time.Sleep(denied.Reset - 1)
		if _, remaining, err := limiter.Allow("subject", 5); remaining == 4 || err != nil {
			t.Errorf("before the reset %d remain, %v", remaining, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 5, time.Minute, 1)
		exhaust(limiter, "subject")
		time.Sleep(limiter.Take("subject").Reset)
		if got := exhaust(limiter, "subject"); got != 5 {
			t.Errorf("%d admitted after the reset, want 5", got)
		}
	})
}

// Ensure that subjects do not spend from each other, and that all uses of one
// key share its limit.
func TestSubjectsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 5, time.Minute, 10)
		admitted := make(map[string]int)
		for range 6 {
			for _, key := range []string{"one", "other", "", "one", "other", ""} {
				if limiter.Take(key).Allowed {
					admitted[key]++
				}
			}
		}
		for _, key := range []string{"one", "other", ""} {
			if admitted[key] != 5 {
				t.Errorf("%q was admitted %d times, want 5", key, admitted[key])
			}
		}
	})
}

// Ensure that the limit of the longest window holds to its end, whatever others
// do in the meantime.
func TestLongWindowIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 2, locallimit.MaxWindow, 100)
		exhaust(limiter, "subject")
		for range 30 {
			time.Sleep(day)
			for i := range 200 {
				exhaust(limiter, fmt.Sprint("other ", i))
			}
			if limiter.Take("subject").Allowed {
				t.Fatal("admitted before the window's end")
			}
		}
		time.Sleep(day)
		if !limiter.Take("subject").Allowed {
			t.Error("denied at the window's end")
		}
	})
}

// Ensure that the older form decides by the limit of each call, over the same
// admissions.
func TestAllow(t *testing.T) {
	type call struct {
		limit     int
		allowed   bool
		remaining int
	}
	tests := []struct {
		name  string
		calls []call
	}{
		{"counts down", []call{{3, true, 2}, {3, true, 1}, {3, true, 0}, {3, false, 0}, {3, false, 0}}},
		{"a raise takes effect at once", []call{{1, true, 0}, {1, false, 0}, {3, true, 1}, {3, true, 0}, {3, false, 0}}},
		{"a cut takes effect at once", []call{{5, true, 4}, {5, true, 3}, {2, false, 0}, {1, false, 0}, {5, true, 2}}},
		{"asking again changes nothing", []call{{1, true, 0}, {1, false, 0}, {1, false, 0}, {1, false, 0}}},
		{"above the limit of Take", []call{{locallimit.MaxLimit, true, locallimit.MaxLimit - 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, 2, time.Minute, 1)
				for i, call := range test.calls {
					allowed, remaining, err := limiter.Allow("subject", call.limit)
					if allowed != call.allowed || remaining != call.remaining || err != nil {
						t.Errorf("call %d: got %v, %d, %v, want %v, %d", i, allowed, remaining, err, call.allowed, call.remaining)
					}
				}
			})
		})
	}
}

// Ensure that Allow and Take count each other's admissions.
func TestAllowAndTakeShareTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, 3, time.Minute, 1)
		for range 4 {
			_, _, _ = limiter.Allow("subject", 5)
			time.Sleep(10 * time.Second)
		}
		// Four are remembered, so two must go before a third fits in again.
		denied := limiter.Take("subject")
		if denied.Allowed || denied.Remaining != 0 || denied.RetryAfter != 30*time.Second {
			t.Fatalf("got %+v, want a denial for 30s", denied)
		}
		time.Sleep(denied.RetryAfter)
		if got := limiter.Take("subject"); !got.Allowed || got.Remaining != 0 {
			t.Errorf("got %+v, want the last one admitted", got)
		}
	})
}

// Ensure that a limit that makes no sense is an error, spends nothing and is
// never taken for "unlimited" or for "nothing".
func TestAllowRefuses(t *testing.T) {
	for _, limit := range []int{0, -1, locallimit.MaxLimit + 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			limiter := newLimiter(t, 2, time.Minute, 1)
			allowed, remaining, err := limiter.Allow("subject", limit)
			var fault locallimit.FieldError
			if allowed || remaining != 0 || !errors.As(err, &fault) || fault.Field != "limit" {
				t.Errorf("got %v, %d, %v, want a fault of limit", allowed, remaining, err)
			}
			if got := limiter.Take("subject"); got.Remaining != 1 {
				t.Errorf("%d remain, want 1", got.Remaining)
			}
		})
	}
}

// Ensure that callers at the same time are admitted exactly up to the limit.
func TestConcurrentSafe(t *testing.T) {
	const limit, callers, each = 1000, 8, 500
	tests := []struct {
		name string
		take func(*locallimit.Limiter) bool
	}{
		{"Take", func(l *locallimit.Limiter) bool { return l.Take("subject").Allowed }},
		{"Allow", func(l *locallimit.Limiter) bool {
			allowed, _, err := l.Allow("subject", limit)
			return allowed && err == nil
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			limiter := newLimiter(t, limit, day, 4)
			var admitted atomic.Int64
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					for range each {
						if test.take(limiter) {
							admitted.Add(1)
						}
						limiter.Take(fmt.Sprint("other ", caller)) // so that the table changes, too
					}
				})
			}
			group.Wait()
			if got := admitted.Load(); got != limit {
				t.Errorf("%d admitted, want %d", got, limit)
			}
		})
	}
}

// Ensure that a limiter says what it was given.
func TestAccessors(t *testing.T) {
	limiter := newLimiter(t, 7, 90*time.Second, 1)
	if limiter.Limit() != 7 || limiter.Window() != 90*time.Second {
		t.Errorf("got %d per %v, want 7 per 1m30s", limiter.Limit(), limiter.Window())
	}
}

package locallimit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Ensure that a crowd of invented subjects neither frees an exhausted subject,
// nor takes from one that has a window, nor shuts out all others.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, room = 5, 1000
		limiter := newLimiter(t, limit, time.Minute, room)
		exhaust(limiter, "exhausted")
		limiter.Take("modest")
		for i := range 3 * room {
			limiter.Take(fmt.Sprint("invented ", i))
			if limiter.Take("exhausted").Allowed {
				t.Fatalf("the exhausted subject was admitted after %d invented ones", i+1)
			}
		}
		if got := exhaust(limiter, "modest"); got != limit-1 {
			t.Errorf("the modest subject was admitted %d times more, want %d", got, limit-1)
		}
		newcomer := limiter.Take("newcomer")
		if newcomer.Allowed || newcomer.RetryAfter <= 0 || newcomer.RetryAfter > time.Minute {
			t.Errorf("got %+v, want the newcomer to wait for the overflow window", newcomer)
		}
		time.Sleep(newcomer.RetryAfter)
		if !limiter.Take("newcomer").Allowed {
			t.Error("the newcomer waited in vain")
		}
	})
}

// Ensure that newcomers to a full table share one limit, which is that of one
// subject.
func TestOverflowIsOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, room = 5, 10
		limiter := newLimiter(t, limit, time.Minute, room)
		for i := range room {
			limiter.Take(fmt.Sprint("first ", i))
		}
		admitted := 0
		for i := range 100 {
			if limiter.Take(fmt.Sprint("late ", i)).Allowed {
				admitted++
			}
		}
		if admitted != limit {
			t.Errorf("%d newcomers admitted, want %d", admitted, limit)
		}
	})
}

// Ensure that a subject that was admitted through the overflow window cannot
// spend its limit a second time in a window of its own.
func TestOverflowIsInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5
		limiter := newLimiter(t, limit, time.Minute, 1)
		limiter.Take("holder")
		time.Sleep(40 * time.Second)
		if got := exhaust(limiter, "late"); got != limit {
			t.Fatalf("%d admitted through the overflow window, want %d", got, limit)
		}
		time.Sleep(20 * time.Second) // the holder's window is empty now
		denied := limiter.Take("late")
		if denied.Allowed || denied.RetryAfter != 40*time.Second {
			t.Fatalf("got %+v, want a denial for 40s", denied)
		}
		time.Sleep(denied.RetryAfter)
		if got := exhaust(limiter, "late"); got != limit {
			t.Errorf("%d admitted a window later, want %d", got, limit)
		}
	})
}

// Ensure that what a subject spends in a window of its own is not taken from the
// overflow window that it began with.
func TestInheritedWindowIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5
		limiter := newLimiter(t, limit, time.Minute, 2)
		limiter.Take("a")
		limiter.Take("b")
		time.Sleep(59 * time.Second)
		limiter.Take("c") // through the overflow window
		limiter.Take("c")
		time.Sleep(time.Second) // two places are free now
		for _, key := range []string{"d", "e"} {
			if got := exhaust(limiter, key); got != limit-2 {
				t.Errorf("%s was admitted %d times, want %d", key, got, limit-2)
			}
		}
		if got := exhaust(limiter, "f"); got != limit-2 {
			t.Errorf("the overflow window admitted %d, want %d", got, limit-2)
		}
	})
}

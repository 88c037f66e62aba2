package locallimit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// Ensure that a crowd of invented users neither frees an exhausted one, nor takes
// from one that has a window, nor shuts out all others, and costs the tenant what
// was admitted and no more.
func TestLayersCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, room, tenantLimit = 5, 100, 100_000
		layers := newLayers(t, room)
		exhaust := func(key string) (admissions int) {
			for admitted(take(t, layers, user(key, limit), tenant("t", tenantLimit))) {
				admissions++
			}
			return admissions
		}
		total := exhaust("exhausted")
		take(t, layers, user("modest", limit), tenant("t", tenantLimit))
		total++
		for i := range 3 * room {
			if admitted(take(t, layers, user(fmt.Sprint("invented ", i), limit), tenant("t", tenantLimit))) {
				total++
			}
			if admitted(take(t, layers, user("exhausted", limit), tenant("t", tenantLimit))) {
				t.Fatalf("the exhausted user was admitted after %d invented ones", i+1)
			}
		}
		if want := limit + (room - 1) + limit; total != want {
			t.Errorf("%d were admitted, want %d: the exhausted, one each that found room, and the overflow", total, want)
		}
		if got := exhaust("modest"); got != limit-1 {
			t.Errorf("the modest user was admitted %d times more, want %d", got, limit-1)
		}
		if got := spent(t, layers, tenant("t", 0)); got != total+limit-1 {
			t.Errorf("the tenant has spent %d, want %d", got, total+limit-1)
		}
		newcomer := take(t, layers, user("newcomer", limit), tenant("t", tenantLimit))[0]
		if newcomer.Allowed || newcomer.RetryAfter <= 0 || newcomer.RetryAfter > time.Minute {
			t.Errorf("got %+v, want the newcomer to wait for the overflow window", newcomer)
		}
		time.Sleep(newcomer.RetryAfter)
		if !admitted(take(t, layers, user("newcomer", limit), tenant("t", tenantLimit))) {
			t.Error("the newcomer waited in vain")
		}
	})
}

// Ensure that those whom another level refuses take no room.
func TestLayersRefusedTakeNoRoom(t *testing.T) {
	const room = 10
	layers := newLayers(t, room)
	take(t, layers, tenant("t", 1))
	for i := range 5 * room {
		take(t, layers, user(fmt.Sprint("refused ", i), 1), tenant("t", 1))
	}
	for i := range room {
		if got := take(t, layers, user(fmt.Sprint("admitted ", i), 1)); !got[0].Allowed {
			t.Errorf("newcomer %d found no room", i+1)
		}
	}
}

// Ensure that a subject whose window has become empty, and who is charged beside
// one that is new, does not lose its place to it.
func TestLayersKeepTheirPlace(t *testing.T) {
	for _, order := range [][]string{{"old", "new"}, {"new", "old"}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				layers := newLayers(t, 1)
				take(t, layers, user("old", 1))
				time.Sleep(time.Minute)
				if got := take(t, layers, user(order[0], 1), user(order[1], 1)); !admitted(got) {
					t.Fatalf("got %+v, want both admitted", got)
				}
				for _, key := range order {
					if got := take(t, layers, user(key, 1)); got[0].Allowed {
						t.Errorf("%s was admitted twice", key)
					}
				}
			})
		})
	}
}

// Ensure that one who was looked at after its window had become empty, and was
// refused by another level, makes room as any other.
func TestLayersEmptyWindowsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := newLayers(t, 1)
		take(t, layers, user("old", 1))
		time.Sleep(30 * time.Second)
		take(t, layers, tenant("t", 1))
		time.Sleep(30 * time.Second)
		if got := verdicts(take(t, layers, user("old", 1), tenant("t", 1))); got != "true 1, false 0, " {
			t.Fatalf("got %s, want the tenant to refuse", got)
		}
		take(t, layers, user("new", 2))
		for range 2 { // through the overflow window, unless "new" got the place
			take(t, layers, user("late", 2))
		}
		if got := take(t, layers, user("new", 2)); !got[0].Allowed {
			t.Errorf("got %+v, want a window of its own", got)
		}
	})
}

// Ensure that a counter of which nothing is remembered may come back with another
// window, and that one of which something is remembered keeps its own.
func TestLayersForgetCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := newLayers(t, 1)
		hour := locallimit.Charge{Counter: "user", Key: "u", Limit: 1, Window: time.Hour, Cost: 1}
		take(t, layers, user("u", 1))
		time.Sleep(30 * time.Second)
		take(t, layers, user("late", 2)) // through the overflow window
		time.Sleep(time.Minute - 1)
		if _, err := layers.Take([]locallimit.Charge{hour}); err == nil {
			t.Error("the window changed while something was remembered")
		}
		time.Sleep(1)
		if got := take(t, layers, hour); !got[0].Allowed {
			t.Errorf("got %+v, want it admitted", got)
		}
		time.Sleep(time.Minute)
		take(t, layers, of("another", "k", 1))
		if got := take(t, layers, hour); got[0].Allowed {
			t.Error("a counter was forgotten while something was remembered")
		}
	})
}

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

func newLayers(t testing.TB, maxSubjects int) *locallimit.Layers {
	t.Helper()
	layers, err := locallimit.NewLayers(maxSubjects)
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

// of is a charge of one per minute to a counter.
func of(counter, key string, limit int) locallimit.Charge {
	return locallimit.Charge{Counter: counter, Key: key, Limit: limit, Window: time.Minute, Cost: 1}
}

func user(key string, limit int) locallimit.Charge { return of("user", key, limit) }

func tenant(key string, limit int) locallimit.Charge { return of("tenant", key, limit) }

// take returns what each of charges says.
func take(t testing.TB, layers *locallimit.Layers, charges ...locallimit.Charge) []locallimit.Result {
	t.Helper()
	results, err := layers.Take(charges)
	if err != nil || len(results) != len(charges) {
		t.Fatalf("got %v, %v, want %d results", results, err, len(charges))
	}
	return results
}

// admitted reports whether all of results admit.
func admitted(results []locallimit.Result) bool {
	return !slices.ContainsFunc(results, func(r locallimit.Result) bool { return !r.Allowed })
}

// verdicts writes results as "allowed remaining" for each level.
func verdicts(results []locallimit.Result) string {
	text := ""
	for _, result := range results {
		text += fmt.Sprintf("%t %d, ", result.Allowed, result.Remaining)
	}
	return text
}

// Ensure that a request is charged at all levels or at none, and that a refusal
// names every level that refuses, with what is left at the others.
func TestLayersChargeAllOrNone(t *testing.T) {
	type call struct {
		charges []locallimit.Charge
		want    string
	}
	calls := func(calls ...call) []call { return calls }
	both := func(u string, userLimit int, t string, tenantLimit int) []locallimit.Charge {
		return []locallimit.Charge{user(u, userLimit), tenant(t, tenantLimit)}
	}
	cost := func(charge locallimit.Charge, n int) locallimit.Charge {
		charge.Cost = n
		return charge
	}
	tests := []struct {
		name  string
		calls []call
	}{
		{"one level refuses", calls(
			call{both("u", 1, "t", 3), "true 0, true 2, "},
			call{both("u", 1, "t", 3), "false 0, true 2, "},
			call{both("v", 1, "t", 3), "true 0, true 1, "},
		)},
		{"the other level refuses", calls(
			call{both("u", 3, "t", 1), "true 2, true 0, "},
			call{both("u", 3, "t", 1), "true 2, false 0, "},
			call{both("v", 3, "t", 1), "true 3, false 0, "},
			call{both("u", 3, "t", 2), "true 1, true 0, "},
		)},
		{"both refuse", calls(
			call{both("u", 1, "t", 1), "true 0, true 0, "},
			call{both("u", 1, "t", 1), "false 0, false 0, "},
			call{both("v", 1, "t", 1), "true 1, false 0, "},
		)},
		{"one level alone", calls(
			call{[]locallimit.Charge{user("u", 1)}, "true 0, "},
			call{[]locallimit.Charge{user("u", 1)}, "false 0, "},
		)},
		{"one key in two counters", calls(
			call{both("same", 1, "same", 2), "true 0, true 1, "},
			call{both("same", 2, "same", 2), "true 0, true 0, "},
		)},
		{"two keys in one counter", calls(
			call{[]locallimit.Charge{user("u", 1), user("v", 2)}, "true 0, true 1, "},
			call{[]locallimit.Charge{user("v", 2), user("u", 1)}, "true 1, false 0, "},
			call{[]locallimit.Charge{user("v", 2), user("u", 2)}, "true 0, true 0, "},
		)},
		{"costs", calls(
			call{[]locallimit.Charge{cost(user("u", 5), 4), cost(tenant("t", 5), 2)}, "true 1, true 3, "},
			call{[]locallimit.Charge{cost(user("u", 5), 2), cost(tenant("t", 5), 3)}, "false 1, true 3, "},
			call{[]locallimit.Charge{cost(user("u", 5), 1), cost(tenant("t", 5), 3)}, "true 0, true 0, "},
		)},
		{"a cut takes effect at once", calls(
			call{both("u", 5, "t", 9), "true 4, true 8, "},
			call{both("u", 5, "t", 9), "true 3, true 7, "},
			call{both("u", 1, "t", 9), "false 0, true 7, "},
		)},
		{"a raise takes effect at once", calls(
			call{both("u", 1, "t", 9), "true 0, true 8, "},
			call{both("u", 1, "t", 9), "false 0, true 8, "},
			call{both("u", 3, "t", 9), "true 1, true 7, "},
		)},
		{"the order of the counters does not matter", calls(
			call{[]locallimit.Charge{user("u", 2), tenant("t", 3)}, "true 1, true 2, "},
			call{[]locallimit.Charge{tenant("t", 3), user("u", 2)}, "true 1, true 0, "},
		)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			layers := newLayers(t, 10)
			for i, call := range test.calls {
				if got := verdicts(take(t, layers, call.charges...)); got != call.want {
					t.Errorf("call %d: got %s want %s", i+1, got, call.want)
				}
			}
		})
	}
}

// Ensure that each level of a refusal has times of its own, and that the request
// is admitted when the longest wait is over, and not earlier.
func TestLayersRetryAfterIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := newLayers(t, 10)
		charges := []locallimit.Charge{
			{Counter: "second", Key: "k", Limit: 1, Window: 10 * time.Second, Cost: 1},
			{Counter: "minute", Key: "k", Limit: 1, Window: time.Minute, Cost: 1},
			{Counter: "hour", Key: "k", Limit: 2, Window: time.Hour, Cost: 1},
			{Counter: "other", Key: "k", Limit: 2, Window: time.Hour, Cost: 1},
		}
		take(t, layers, charges[:3]...)
		time.Sleep(4 * time.Second)
		got := take(t, layers, charges...)
		want := []locallimit.Result{
			{Limit: 1, RetryAfter: 6 * time.Second, Reset: 6 * time.Second},
			{Limit: 1, RetryAfter: 56 * time.Second, Reset: 56 * time.Second},
			{Allowed: true, Limit: 2, Remaining: 1, Reset: time.Hour - 4*time.Second},
			{Allowed: true, Limit: 2, Remaining: 2},
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		time.Sleep(56*time.Second - 1)
		if got := take(t, layers, charges...); got[1].RetryAfter != 1 || admitted(got) {
			t.Errorf("a nanosecond early got %+v, want a denial for 1ns", got)
		}
		time.Sleep(1)
		if got := take(t, layers, charges...); !admitted(got) {
			t.Errorf("got %+v, want it admitted", got)
		}
	})
}

// Ensure that a cost waits until all of it fits.
func TestLayersWaitForTheWholeCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := newLayers(t, 10)
		charge := user("u", 3)
		for range 3 {
			take(t, layers, charge)
			time.Sleep(10 * time.Second)
		}
		charge.Cost = 2
		denied := take(t, layers, charge)[0]
		if denied.Allowed || denied.RetryAfter != 40*time.Second || denied.Reset != 50*time.Second {
			t.Fatalf("got %+v, want a denial for 40s", denied)
		}
		time.Sleep(denied.RetryAfter)
		if got := take(t, layers, charge)[0]; !got.Allowed || got.Remaining != 0 {
			t.Errorf("got %+v, want the whole cost admitted", got)
		}
	})
}

// Ensure that what makes no sense is an error that names field and bound, and
// that nothing was spent, whichever of the charges it is.
func TestLayersRefuse(t *testing.T) {
	good := user("u", 2)
	with := func(edit func(*locallimit.Charge)) []locallimit.Charge {
		bad := tenant("t", 2)
		edit(&bad)
		return []locallimit.Charge{good, bad}
	}
	nine := make([]locallimit.Charge, 9)
	for i := range nine {
		nine[i] = user(fmt.Sprint(i), 1)
	}
	tests := []struct {
		name    string
		charges []locallimit.Charge
		want    string
	}{
		{"none", nil, "charges: are 0, must be 1 to 8"},
		{"too many", nine, "charges: are 9, must be 1 to 8"},
		{"no limit", with(func(c *locallimit.Charge) { c.Limit = 0 }),
			"charges[1].limit: is 0, must be 1 to 1000000000"},
		{"a negative limit", with(func(c *locallimit.Charge) { c.Limit = -1 }),
			"charges[1].limit: is -1, must be 1 to 1000000000"},
		{"a limit beyond the bound", with(func(c *locallimit.Charge) { c.Limit = locallimit.MaxLimit + 1 }),
			"charges[1].limit: is 1000000001, must be 1 to 1000000000"},
		{"no cost", with(func(c *locallimit.Charge) { c.Cost = 0 }),
			"charges[1].cost: is 0, must be 1 to 2"},
		{"a negative cost", with(func(c *locallimit.Charge) { c.Cost = -1 }),
			"charges[1].cost: is -1, must be 1 to 2"},
		{"a cost beyond the limit", with(func(c *locallimit.Charge) { c.Cost = 3 }),
			"charges[1].cost: is 3, must be 1 to 2"},
		{"no window", with(func(c *locallimit.Charge) { c.Window = 0 }),
			"charges[1].window: is 0s, must be 1ms to 744h0m0s"},
		{"a window beyond the bound", with(func(c *locallimit.Charge) { c.Window = 32 * day }),
			"charges[1].window: is 768h0m0s, must be 1ms to 744h0m0s"},
		{"a fraction of a millisecond", with(func(c *locallimit.Charge) { c.Window = time.Millisecond + 1 }),
			"charges[1].window: is 1.000001ms, must be a whole number of milliseconds"},
		{"the same twice", with(func(c *locallimit.Charge) { *c = good }),
			"charges[1].key: is charged twice to counter user"},
		{"two windows of one counter", with(func(c *locallimit.Charge) { c.Counter, c.Window = "user", time.Hour }),
			"charges[1].window: is 1h0m0s, must be that of counter user, 1m0s"},
		{"another window than before", with(func(c *locallimit.Charge) { c.Counter, c.Window = "known", time.Hour }),
			"charges[1].window: is 1h0m0s, must be that of counter known, 1m0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			layers := newLayers(t, 10)
			take(t, layers, of("known", "k", 2))
			results, err := layers.Take(test.charges)
			var fault locallimit.FieldError
			if results != nil || !errors.As(err, &fault) || err.Error() != test.want {
				t.Errorf("got  %v, %v\nwant %s", results, err, test.want)
			}
			if got := verdicts(take(t, layers, good, tenant("t", 2), of("known", "k", 2))); got != "true 1, true 1, true 0, " {
				t.Errorf("afterwards got %s, want nothing spent", got)
			}
		})
	}
}

// Ensure that the room for subjects is bounded.
func TestNewLayers(t *testing.T) {
	for _, room := range []int{1, locallimit.MaxSubjects} {
		if layers, err := locallimit.NewLayers(room); layers == nil || err != nil {
			t.Errorf("%d: got %v", room, err)
		}
	}
	for _, room := range []int{0, -1, locallimit.MaxSubjects + 1} {
		layers, err := locallimit.NewLayers(room)
		want := fmt.Sprintf("max-subjects: is %d, must be 1 to 10000000", room)
		var fault locallimit.FieldError
		if layers != nil || !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%d: got %v, want %s", room, err, want)
		}
	}
}

// Ensure that callers at the same time are admitted exactly up to the tightest
// level, and that every level knows of all that were admitted, and of no others.
func TestLayersConcurrentSafe(t *testing.T) {
	const callers, each, users = 200, 50, 4
	tests := []struct {
		name                   string
		userLimit, tenantLimit int
		want                   int
	}{
		{"the user's level is the tightest", 1000, 9000, users * 1000},
		{"the tenant's level is the tightest", 2000, 3000, 3000},
		{"nobody is refused", 20_000, 20_000, users + callers*each},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			layers := newLayers(t, 10)
			var byUser [users]atomic.Int64
			request := func(id int) {
				results, err := layers.Take([]locallimit.Charge{
					user(fmt.Sprint(id), test.userLimit),
					tenant("t", test.tenantLimit),
				})
				if err == nil && admitted(results) {
					byUser[id].Add(1)
				}
			}
			for id := range users { // before the table is full: who comes later inherits what others spent
				request(id)
			}
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					for range each {
						request(caller % users)
						layers.Take([]locallimit.Charge{user(fmt.Sprint("other ", caller), 1)}) // so that the table changes, too
					}
				})
			}
			group.Wait()
			total := 0
			for i := range byUser {
				total += int(byUser[i].Load())
				if got := spent(t, layers, user(fmt.Sprint(i), 0)); got != int(byUser[i].Load()) {
					t.Errorf("user %d has spent %d, want %d", i, got, byUser[i].Load())
				}
			}
			if got := spent(t, layers, tenant("t", 0)); total != test.want || got != total {
				t.Errorf("%d admitted, and the tenant has spent %d, want %d", total, got, test.want)
			}
		})
	}
}

// spent is what is remembered of the subject of a charge, found without spending:
// another level refuses.
func spent(t testing.TB, layers *locallimit.Layers, charge locallimit.Charge) int {
	t.Helper()
	charge.Limit = locallimit.MaxLimit
	full := of("full", "k", 1)
	layers.Take([]locallimit.Charge{full})
	return locallimit.MaxLimit - take(t, layers, charge, full)[0].Remaining
}

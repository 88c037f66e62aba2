package ratelimittest

import (
	"testing"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Deadline is what [Run] and [RunLayered] leave each call. A port under test is
// configured to answer within it, and not to refuse it as too short. It is long, so
// that a machine which stands still for a moment breaks no promise.
const Deadline = 5 * time.Second

// Harness is what [Run] needs of an implementer: the port, and a hold on the
// store behind it. Its methods are called from the goroutine of the test, one at
// a time, and end the test if they fail.
type Harness interface {
	// NewPort opens a port over the harness's catalog and store, as one more
	// process would. All ports of a harness share the store, and what is done to
	// the store concerns them all.
	NewPort() ratelimit.EdgePort

	// Pass returns when at least d has passed on the store's clock. It moves the
	// clock of a store that has one to move, and waits otherwise. The suite asks
	// for less than two seconds of one harness.
	Pass(d time.Duration)

	// Disconnect makes the store unreachable before it returns: connections are
	// closed and new ones refused, so that a port can know that a call never
	// arrived.
	Disconnect()

	// LoseReplies lets calls through and their replies disappear: the store
	// executes the next call, and nobody hears of it. No connection is closed.
	// The port has just decided, so the next call need not connect first.
	LoseReplies()

	// Mend ends Disconnect or LoseReplies; what the store knew it still knows. A
	// port then has five seconds to find it again.
	Mend()
}

// LayeredHarness is what [RunLayered] needs: besides a Harness, the layered port.
type LayeredHarness interface {
	Harness

	// NewLayeredPort opens a layered port as NewPort opens a port. What it charges
	// is charged in the same store.
	NewLayeredPort() ratelimit.LayeredPort
}

// Run holds an implementation of [ratelimit.EdgePort] against the promises of
// the port, one subtest for each. newHarness is called for each of them; its
// port takes its policies from the catalog, which holds all algorithms and is
// changed on the way. The store need not be empty: subjects are random.
//
//	func TestConformance(t *testing.T) {
//		ratelimittest.Run(t, func(tb testing.TB, catalog *ratelimit.Catalog) ratelimittest.Harness {
//			return newHarness(tb, catalog)
//		})
//	}
//
// What no caller can see from outside is left to the implementer's own tests:
// that state expires, that keys name nobody, and how a store misbehaves in ways
// of its own.
func Run(t *testing.T, newHarness func(testing.TB, *ratelimit.Catalog) Harness) {
	t.Helper()
	run(t, clauses(), func(t *testing.T, catalog *ratelimit.Catalog) *stage {
		return newStage(t, newHarness(t, catalog), catalog)
	})
}

// RunLayered holds an implementation of [ratelimit.LayeredPort] against the
// promises of the port, in the way of [Run], which it does not replace: the ports
// of newHarness are used to see what single evaluations make of the levels.
func RunLayered(t *testing.T, newHarness func(testing.TB, *ratelimit.Catalog) LayeredHarness) {
	t.Helper()
	run(t, layeredClauses(), func(t *testing.T, catalog *ratelimit.Catalog) *stage {
		return newLayeredStage(t, newHarness(t, catalog), catalog)
	})
}

func run(t *testing.T, clauses []clause, newStage func(*testing.T, *ratelimit.Catalog) *stage) {
	t.Helper()
	for _, clause := range clauses {
		t.Run(clause.name, func(t *testing.T) {
			t.Log(clause.promise)
			clause.check(newStage(t, newCatalog()))
		})
	}
}

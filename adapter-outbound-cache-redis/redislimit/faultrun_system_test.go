//go:build system

package redislimit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/history"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	// faultTimeout is that of a command: long enough for a busy machine, so that
	// what is not answered within it is the fault's doing.
	faultTimeout = 400 * time.Millisecond
	// showWithin is the most that a fault takes to be noticed.
	showWithin = 5 * time.Second
	// recoverWithin is the most that a recovery takes.
	recoverWithin = 2 * time.Second
	// repeatEvery is how often a fault is repeated that must be.
	repeatEvery = 10 * time.Millisecond
)

// faultRun lets a fault strike a limiter at work.
type faultRun struct {
	scene    *scene
	fault    fault
	dispatch redislimit.Dispatch
	hold     time.Duration // of the fault, once it shows
	// spoil makes the limiter worse than it is; nil does not.
	spoil func(*testing.T, *scene, ratelimit.EdgePort) ratelimit.EdgePort

	violations []string
}

// run lists what the limiter did that it must not do.
func (r *faultRun) run(t *testing.T) []string {
	t.Helper()
	before := takeFootprint(t)
	limiter, port := r.open(t)
	lives := []*traffic{startTraffic(t, port)}
	r.wantDecisions(lives[0])

	from := r.strike(t, lives[0])
	until := time.Now()
	if r.fault.forgets {
		// Once the server is back, it cannot be told which life an answer is from.
		lives[0].stop()
		r.mend(t)
		lives = append(lives, startTraffic(t, port))
	} else {
		r.mend(t)
	}
	present := lives[len(lives)-1]
	r.wantDecisions(present)
	present.stop()

	r.wantOutcomes(lives[0], from, until)
	r.wantCharged(t, present)
	for _, life := range lives {
		r.wantExplained(life)
	}
	for _, life := range lives {
		t.Log(life)
	}
	must(t, limiter.Close(t.Context()))
	r.violations = append(r.violations, before.outgrown()...)
	return r.violations
}

func (r *faultRun) open(t *testing.T) (*redislimit.Limiter, ratelimit.EdgePort) {
	t.Helper()
	c := config(t, r.scene.proxy.Addr, endless(faultQuota)...)
	c.Username, c.Password = faultUser, faultPassword
	c.Dispatch, c.PoolSize = r.dispatch, callersInFaults
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = faultTimeout, faultTimeout, faultTimeout
	limiter, err := redislimit.New(c)
	must(t, err)
	if r.spoil == nil {
		return limiter, limiter
	}
	return limiter, r.spoil(t, r.scene, limiter)
}

// strike begins the fault and holds it, and gives the moment from which callers
// must have noticed it.
func (r *faultRun) strike(t *testing.T, work *traffic) time.Time {
	t.Helper()
	again := func() {
		if r.fault.again != nil {
			r.fault.again(t, r.scene)
		}
	}
	if r.fault.strike != nil {
		r.fault.strike(t, r.scene)
	}
	struck, inRow, shown := time.Now(), 0, false
	noticed := work.await(showWithin, again, func(call history.Call) bool {
		class := classOf(call)
		if call.End.Before(struck) || !r.belongs(class) {
			inRow, shown = 0, false
			return false
		}
		inRow++
		shown = shown || class == r.fault.shows
		return shown && inRow >= callersInFaults
	})
	if !noticed {
		r.violated("the callers were not answered %q within %v", r.fault.shows, showWithin)
	}
	from := time.Now()
	for time.Since(from) < r.hold {
		again()
		time.Sleep(repeatEvery)
	}
	return from
}

func (r *faultRun) mend(t *testing.T) {
	t.Helper()
	if r.fault.mend != nil {
		r.fault.mend(t, r.scene)
	}
}

// wantDecisions wants one for each caller, in a row, before long.
func (r *faultRun) wantDecisions(work *traffic) {
	start, inRow := time.Now(), 0
	recovered := work.await(recoverWithin, func() {}, func(call history.Call) bool {
		if classOf(call) == decision && call.Start.After(start) {
			inRow++
		} else {
			inRow = 0
		}
		return inRow == callersInFaults
	})
	if !recovered {
		r.violated("no %d decisions in a row within %v", callersInFaults, recoverWithin)
	}
}

// wantOutcomes wants that callers who came while the fault held were told what
// it is.
func (r *faultRun) wantOutcomes(work *traffic, from, until time.Time) {
	unwanted := make(map[string]int)
	for _, call := range work.recorder.Calls(0) {
		class := classOf(call)
		if call.Start.After(from) && call.End.Before(until) && !r.belongs(class) {
			unwanted[class]++
		}
	}
	if len(unwanted) > 0 {
		r.violated("outcomes that do not belong to the fault: %v", unwanted)
	}
}

// belongs reports whether an outcome is one of the fault.
func (r *faultRun) belongs(class string) bool {
	return class == r.fault.shows || slices.Contains(r.fault.others, class)
}

// wantCharged asks the server how much it has charged each subject.
func (r *faultRun) wantCharged(t *testing.T, work *traffic) {
	t.Helper()
	r.ask(t, work)
	for _, h := range work.recorder.Histories() {
		last, decided := h.Calls[len(h.Calls)-1].Outcome.(ratelimit.Evaluated)
		if !decided {
			r.violated("no decision in the end:\n%v", h)
			continue
		}
		charged := last.Decision.Limit - last.Decision.Remaining
		if admitted, doubtful := h.Admitted(), h.Doubtful(); charged < admitted || charged > admitted+doubtful {
			r.violated("%d charged, %d admitted, %d in doubt:\n%v", charged, admitted, doubtful, h)
		}
	}
}

// ask puts a last question about each subject, with all the patience it takes.
func (r *faultRun) ask(t *testing.T, work *traffic) {
	t.Helper()
	c := config(t, r.scene.server.Addr, endless(faultQuota)...)
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = callerPatience, callerPatience, callerPatience
	patient, err := redislimit.New(c)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, h := range work.recorder.Histories() {
		work.recorder.Through(ctx, patient, h.Calls[0].Request)
	}
	must(t, patient.Close(ctx))
}

// wantExplained holds what each subject was answered against the limit and
// against the model.
func (r *faultRun) wantExplained(work *traffic) {
	for _, h := range work.recorder.Histories() {
		if admitted := h.Admitted(); admitted > h.Policy.Quota() {
			r.violated("%d admitted of %d:\n%v", admitted, h.Policy.Quota(), h)
		}
		if err := h.Check(); err != nil {
			r.violated("%v:\n%v", err, h)
		}
	}
}

func (r *faultRun) violated(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// classOf is the label of an outcome, or that it is a decision.
func classOf(call history.Call) string {
	if _, decided := call.Outcome.(ratelimit.Evaluated); decided {
		return decision
	}
	return label(call.Outcome)
}

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
	spoil func(*testing.T, *scene, ports) ports

	violations []string
	// late are violations that a machine which stands still explains too.
	late []string
}

// runs is how often a fault strikes at the most while all that is violated is late.
const runs = 3

// report lets the fault strike, and again while all that is violated is late.
func (r faultRun) report(t *testing.T) {
	t.Helper()
	for left := runs - 1; ; left-- {
		run := r
		run.run(t)
		if len(run.violations) == 0 && len(run.late) > 0 && left > 0 {
			t.Logf("once more, since the machine may have stood still: %q", run.late)
			continue
		}
		for _, violation := range append(run.violations, run.late...) {
			t.Error(violation)
		}
		return
	}
}

// ports are those of one limiter.
type ports struct {
	ratelimit.EdgePort
	ratelimit.LayeredPort
}

// run notes what the limiter did that it must not do.
func (r *faultRun) run(t *testing.T) {
	t.Helper()
	before := takeFootprint(t)
	limiter, ports := r.open(t)
	lives := []*traffic{startTraffic(t, ports)}
	r.wantDecisions(lives[0])

	from := r.strike(t, lives[0])
	until := time.Now()
	if r.fault.forgets {
		// Once the server is back, it cannot be told which life an answer is from.
		lives[0].stop()
		r.mend(t)
		lives = append(lives, startTraffic(t, ports))
	} else {
		r.mend(t)
	}
	present := lives[len(lives)-1]
	r.wantDecisions(present)
	present.stop()

	r.wantOutcomes(lives[0], from, until)
	r.wantCharged(t, present)
	for _, life := range lives {
		r.wantExplained(t, life)
	}
	for _, life := range lives {
		t.Log(life)
	}
	must(t, limiter.Close(t.Context()))
	r.violations = append(r.violations, before.outgrown()...)
}

func (r *faultRun) open(t *testing.T) (*redislimit.Limiter, ports) {
	t.Helper()
	c := config(t, r.scene.proxy.Addr, faultPolicies()...)
	c.Username, c.Password = faultUser, faultPassword
	c.Dispatch, c.PoolSize = r.dispatch, callersInFaults
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = faultTimeout, faultTimeout, faultTimeout
	limiter, err := redislimit.New(c)
	must(t, err)
	both := ports{limiter, limiter}
	if r.spoil != nil {
		both = r.spoil(t, r.scene, both)
	}
	return limiter, both
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
	noticed := work.await(showWithin, again, func(one answer) bool {
		if one.end.Before(struck) || !r.belongs(one.class) {
			inRow, shown = 0, false
			return false
		}
		inRow++
		shown = shown || one.class == r.fault.shows
		return shown && inRow >= callersInFaults
	})
	if !noticed {
		r.isLate("the callers were not answered %q within %v", r.fault.shows, showWithin)
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
	recovered := work.await(recoverWithin, func() {}, func(one answer) bool {
		if one.class == decision && one.start.After(start) {
			inRow++
		} else {
			inRow = 0
		}
		return inRow == callersInFaults
	})
	if !recovered {
		r.isLate("no %d decisions in a row within %v", callersInFaults, recoverWithin)
	}
}

// wantOutcomes wants that callers who came while the fault held were told what
// it is.
func (r *faultRun) wantOutcomes(work *traffic, from, until time.Time) {
	unwanted, late := make(map[string]int), make(map[string]int)
	for _, one := range work.answersAfter(0) {
		switch {
		case one.start.Before(from) || one.end.After(until) || r.belongs(one.class):
		case one.class == "unavailable connection" || one.class == "unavailable saturated":
			late[one.class]++
		default:
			unwanted[one.class]++
		}
	}
	const told = "outcomes that do not belong to the fault: %v"
	if len(unwanted) > 0 {
		r.violated(told, unwanted)
	}
	if len(late) > 0 {
		r.isLate(told, late)
	}
}

// belongs reports whether an outcome is one of the fault.
func (r *faultRun) belongs(class string) bool {
	return class == r.fault.shows || slices.Contains(r.fault.others, class)
}

// wantCharged asks the server how much it has charged each counter.
func (r *faultRun) wantCharged(t *testing.T, work *traffic) {
	t.Helper()
	r.ask(t, work)
	for _, h := range work.asked.Histories() {
		call := h.Calls[len(h.Calls)-1]
		last, decided := call.Outcome.(ratelimit.LayeredEvaluated)
		if !decided {
			r.violated("no decision in the end:\n%v", h)
			continue
		}
		admitted, doubtful := h.Admitted(), h.Doubtful()
		for i, level := range call.Request.Levels() {
			of := history.CounterOf(level)
			charged := last.Decision.Levels[i].Limit - last.Decision.Levels[i].Remaining
			if charged < admitted[of] || charged > admitted[of]+doubtful[of] {
				r.violated("%d charged, %d admitted, %d in doubt:\n%v", charged, admitted[of], doubtful[of], h)
			}
		}
	}
}

// ask puts a last question about each subject and all levels of each tenant, with
// all the patience it takes.
func (r *faultRun) ask(t *testing.T, work *traffic) {
	t.Helper()
	c := config(t, r.scene.server.Addr, faultPolicies()...)
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = callerPatience, callerPatience, callerPatience
	patient, err := redislimit.New(c)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, h := range work.asked.Histories() {
		work.asked.Through(ctx, patient, everyLevel(t, h))
	}
	must(t, patient.Close(ctx))
}

// everyLevel asks at once for all levels that a history has.
func everyLevel(t *testing.T, h history.History) ratelimit.LayeredRequest {
	t.Helper()
	spec := ratelimit.LayeredRequestSpec{Root: h.Calls[0].Request.Root()}
	known := make(map[history.Counter]bool)
	for _, call := range h.Calls {
		for _, level := range call.Request.Levels() {
			if of := history.CounterOf(level); !known[of] {
				known[of] = true
				spec.Levels = append(spec.Levels, level)
			}
		}
	}
	request, err := ratelimit.NewLayeredRequest(spec)
	must(t, err)
	return request
}

// wantExplained holds what each subject was answered against the limit and
// against the model.
func (r *faultRun) wantExplained(t *testing.T, work *traffic) {
	t.Helper()
	for _, h := range work.asked.Histories() {
		admitted := h.Admitted()
		for _, level := range everyLevel(t, h).Levels() {
			policy, err := h.Effective(level)
			must(t, err)
			if admitted := admitted[history.CounterOf(level)]; admitted > policy.Quota() {
				r.violated("%d admitted of %d:\n%v", admitted, policy.Quota(), h)
			}
		}
		if r.fault.halfway && slices.ContainsFunc(h.Calls, ofSeveralLevels) {
			continue
		}
		if err := h.Check(); err != nil {
			r.violated("%v:\n%v", err, h)
		}
	}
}

func ofSeveralLevels(call history.Call) bool { return call.Request.Len() > 1 }

func (r *faultRun) isLate(format string, args ...any) {
	r.late = append(r.late, fmt.Sprintf(format, args...))
}

func (r *faultRun) violated(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

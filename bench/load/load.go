// Package load asks from many callers at once, each of which waits for its
// answer before it asks again, and measures what that costs this process.
package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Decide asks whether a subject, by its number, may do something once more.
type Decide func(ctx context.Context, subject int) (admitted bool, err error)

// Plan is one load.
type Plan struct {
	// Callers is how many ask at the same time. At least 1.
	Callers int
	// Subjects is how many are asked about, evenly and at random. At least 1.
	Subjects int
	// Duration is how long new questions are asked.
	Duration time.Duration
}

// Sample is what was measured. Every count is of the same questions.
type Sample struct {
	Decisions int64
	Admitted  int64
	Errors    int64
	// Err is one of the errors, nil if there were none.
	Err     error
	Elapsed time.Duration
	// P50 and P99 are latencies, as the callers saw them.
	P50, P99 time.Duration
	// CPU is the processor time of this process, callers included.
	CPU time.Duration
	// Mallocs is how many objects this process put on the heap.
	Mallocs uint64
}

// Run puts decide under the load of plan.
func Run(ctx context.Context, plan Plan, decide Decide) Sample {
	callers := make([]*caller, plan.Callers)
	for i := range callers {
		callers[i] = newCaller()
	}
	runtime.GC() // so that nobody pays for what others left behind
	before := measure()
	var running sync.WaitGroup
	for _, caller := range callers {
		running.Go(func() { caller.run(ctx, plan, decide) })
	}
	running.Wait()
	return sum(callers, measure().since(before))
}

// Prime asks once about each of the first subjects, so that no load has to
// create their state.
func Prime(ctx context.Context, callers, subjects int, decide Decide) error {
	errs := make([]error, callers)
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			for subject := i; subject < subjects && errs[i] == nil; subject += callers {
				_, errs[i] = decide(ctx, subject)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// caller has its own counts, so that callers share nothing but what they ask.
type caller struct {
	latencies *hdrhistogram.Histogram // in ns
	admitted  int64
	errors    int64
	err       error
}

// Latencies are kept to three digits between a microsecond and a minute.
func newCaller() *caller {
	return &caller{latencies: hdrhistogram.New(time.Microsecond.Nanoseconds(), time.Minute.Nanoseconds(), 3)}
}

func (c *caller) run(ctx context.Context, plan Plan, decide Decide) {
	subjects := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	began := time.Now()
	for end := began.Add(plan.Duration); began.Before(end) && ctx.Err() == nil; {
		admitted, err := decide(ctx, subjects.IntN(plan.Subjects))
		ended := time.Now()
		c.fail(err)
		c.fail(c.latencies.RecordValue(ended.Sub(began).Nanoseconds()))
		if admitted {
			c.admitted++
		}
		began = ended
	}
}

func (c *caller) fail(err error) {
	if err != nil {
		c.errors, c.err = c.errors+1, err
	}
}

func sum(callers []*caller, used usage) Sample {
	all := newCaller()
	for _, c := range callers {
		all.latencies.Merge(c.latencies)
		all.admitted += c.admitted
		all.errors += c.errors
		all.err = errors.Join(all.err, c.err)
	}
	return Sample{
		Decisions: all.latencies.TotalCount(),
		Admitted:  all.admitted,
		Errors:    all.errors,
		Err:       all.err,
		Elapsed:   used.elapsed,
		P50:       time.Duration(all.latencies.ValueAtQuantile(50)),
		P99:       time.Duration(all.latencies.ValueAtQuantile(99)),
		CPU:       used.cpu,
		Mallocs:   used.mallocs,
	}
}

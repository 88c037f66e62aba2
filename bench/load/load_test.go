package load_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/bench/load"
)

// Ensure that callers ask one question at a time until their time is up, and
// that counts and percentiles are those of the answers.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 4
		var asked atomic.Int64
		sample := load.Run(t.Context(), load.Plan{Callers: callers, Subjects: 1, Duration: time.Second},
			func(context.Context, int) (bool, error) {
				// One answer in 50 is slow, and another one a denial.
				switch asked.Add(1) % 50 {
				case 0:
					time.Sleep(20 * time.Millisecond)
				case 25:
					time.Sleep(time.Millisecond)
					return false, nil
				default:
					time.Sleep(time.Millisecond)
				}
				return true, nil
			})
		if sample.Decisions != asked.Load() || sample.Admitted != asked.Load()-(asked.Load()+25)/50 {
			t.Errorf("%d decisions, %d admissions, of %d", sample.Decisions, sample.Admitted, asked.Load())
		}
		// 49 fast answers and a slow one take 69 ms of a caller.
		if want := int64(callers * 1000 * 50 / 69); sample.Decisions < want-callers*20 || sample.Decisions > want+callers*20 {
			t.Errorf("%d decisions in a second, want about %d", sample.Decisions, want)
		}
		expectAbout(t, "p50", sample.P50, time.Millisecond)
		expectAbout(t, "p99", sample.P99, 20*time.Millisecond)
		if sample.Elapsed < time.Second || sample.Elapsed > time.Second+20*time.Millisecond {
			t.Errorf("it took %v", sample.Elapsed)
		}
	})
}

// expectAbout allows for the three digits that latencies are kept with.
func expectAbout(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want-want/500 || got > want+want/500 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Ensure that errors are counted, and one is kept.
func TestRunCountsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		sample := load.Run(t.Context(), load.Plan{Callers: 2, Subjects: 1, Duration: 100 * time.Millisecond},
			func(context.Context, int) (bool, error) {
				time.Sleep(10 * time.Millisecond)
				return false, refused
			})
		if sample.Errors != 20 || sample.Decisions != 20 || sample.Admitted != 0 || !errors.Is(sample.Err, refused) {
			t.Errorf("sample is %+v", sample)
		}
	})
}

// Ensure that the questions are about all subjects, evenly.
func TestRunSpreadsOverSubjects(t *testing.T) {
	const subjects, callers = 10, 4
	synctest.Test(t, func(t *testing.T) {
		var counts [subjects]atomic.Int64
		load.Run(t.Context(), load.Plan{Callers: callers, Subjects: subjects, Duration: time.Second},
			func(_ context.Context, subject int) (bool, error) {
				time.Sleep(time.Millisecond)
				counts[subject].Add(1)
				return true, nil
			})
		for subject := range counts {
			// 400 are expected; five standard deviations are 95.
			if count := counts[subject].Load(); count < 300 || count > 500 {
				t.Errorf("subject %d was asked about %d times of %d", subject, count, callers*1000)
			}
		}
	})
}

// Ensure that processor time and allocations are measured at all.
func TestRunMeasuresThisProcess(t *testing.T) {
	var kept []*[64]byte
	var busy int
	decide := func(context.Context, int) (bool, error) {
		kept = append(kept[:0], new([64]byte))
		for i := range 1000 {
			busy += i
		}
		return true, nil
	}
	var sample load.Sample
	// Of few decisions, on a machine that stood still, what else happens is too much.
	for plan := (load.Plan{Callers: 1, Subjects: 1, Duration: 50 * time.Millisecond}); sample.Decisions < 1000; plan.Duration *= 2 {
		sample = load.Run(t.Context(), plan, decide)
	}
	if sample.CPU <= 0 {
		t.Errorf("processor time is %v", sample.CPU)
	}
	if each := float64(sample.Mallocs) / float64(sample.Decisions); each < 1 || each > 2 {
		t.Errorf("%.2f objects for each decision, want one", each)
	}
}

// Ensure that priming asks about each subject once.
func TestPrime(t *testing.T) {
	const subjects = 100
	var mu sync.Mutex
	counts := make(map[int]int)
	err := load.Prime(t.Context(), 7, subjects, func(_ context.Context, subject int) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		counts[subject]++
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for subject := range subjects {
		if counts[subject] != 1 {
			t.Errorf("subject %d was asked about %d times", subject, counts[subject])
		}
	}
	if len(counts) != subjects {
		t.Errorf("%d subjects were asked about, want %d", len(counts), subjects)
	}
}

// Ensure that priming ends with the error that it met.
func TestPrimeFails(t *testing.T) {
	refused := errors.New("refused")
	err := load.Prime(t.Context(), 3, 100, func(_ context.Context, subject int) (bool, error) {
		if subject == 50 {
			return false, refused
		}
		return true, nil
	})
	if !errors.Is(err, refused) {
		t.Errorf("error is %v", err)
	}
}

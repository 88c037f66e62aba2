//go:build system

package redislimit_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/history"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	callersInFaults = 64
	// faultQuota is less than what callers ask of one subject.
	faultQuota = 150
	// callerPatience is more than a limiter may take.
	callerPatience = 5 * time.Second
)

// traffic is callers at work.
type traffic struct {
	recorder *history.Recorder
	subjects subjects
	callers  sync.WaitGroup
	ended    context.CancelFunc
}

func startTraffic(t *testing.T, port ratelimit.EdgePort) *traffic {
	t.Helper()
	working, end := context.WithCancel(t.Context())
	w := &traffic{
		recorder: history.NewRecorder(port, snapshot(t, endless(faultQuota)...)),
		subjects: subjects{of: t.Name()},
		ended:    end,
	}
	for range callersInFaults {
		w.callers.Go(func() {
			for working.Err() == nil {
				w.call()
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	t.Cleanup(w.stop)
	return w
}

func (w *traffic) stop() {
	w.ended()
	w.callers.Wait()
}

func (w *traffic) call() {
	asked := w.subjects.take()
	ctx, cancel := context.WithTimeout(context.Background(), callerPatience)
	defer cancel()
	w.subjects.giveBack(asked, w.recorder.Evaluate(ctx, asked.request))
}

// await looks at each call that has ended, until satisfied. In between it polls.
func (w *traffic) await(within time.Duration, poll func(), satisfied func(history.Call) bool) bool {
	seen := 0
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(repeatEvery) {
		poll()
		for _, call := range w.recorder.Calls(seen) {
			if seen++; satisfied(call) {
				return true
			}
		}
	}
	return false
}

// String counts what callers were answered.
func (w *traffic) String() string {
	classes := make(map[string]int)
	for _, call := range w.recorder.Calls(0) {
		classes[classOf(call)]++
	}
	return fmt.Sprintf("%d subjects: %v", len(w.recorder.Histories()), classes)
}

// subjects are as many as it takes to keep each one's history short enough to be
// checked, and few enough that callers meet.
type subjects struct {
	of string // makes them differ from those of others

	mu   sync.Mutex
	all  []*subject
	next int
}

type subject struct {
	request ratelimit.Request
	calls   int // that were not free, or are open
	doubts  int // or are open
}

// take gives the next subject in turn that has room for a call.
func (s *subjects) take() *subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.all {
		s.next = (s.next + 1) % len(s.all)
		if one := s.all[s.next]; one.hasRoom() {
			one.calls++
			one.doubts++
			return one
		}
	}
	one := newSubject(s.of, len(s.all))
	s.all = append(s.all, one)
	one.calls++
	one.doubts++
	return one
}

func (s *subjects) giveBack(one *subject, outcome ratelimit.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !history.InDoubt(outcome) {
		one.doubts--
	}
	if history.IsFree(outcome) {
		one.calls--
	}
}

// hasRoom leaves one call for the question at the end.
func (s *subject) hasRoom() bool {
	return s.calls < history.MaxCalls-1 && s.doubts < history.MaxDoubts
}

func newSubject(of string, number int) *subject {
	policies := endless(faultQuota)
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policies[number%len(policies)].ID,
		Subject:  pseudonym.Digest(sha256.Sum256(fmt.Appendf(nil, "%s %d", of, number))),
		Cost:     int64(1 + number%2),
	})
	if err != nil {
		panic(err) // everything stands above
	}
	return &subject{request: request}
}

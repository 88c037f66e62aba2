//go:build system

package redislimit_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
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
	// What a tenant and each of its users may spend. The first user is denied
	// before the tenant is, others after it.
	faultTenantQuota = 40
	faultUserQuota   = 8
	usersInFaults    = 6
	// tenantPolicies begins the IDs of the policies of tenants.
	tenantPolicies = "tenant-"
	// callerPatience is more than a limiter may take.
	callerPatience = 5 * time.Second
)

// answer is what a caller was told.
type answer struct {
	start, end time.Time
	class      string
}

// faultPolicies are those of single subjects and of users, and then those of tenants.
func faultPolicies() []ratelimit.PolicySpec {
	tenants := endless(faultTenantQuota)
	for i := range tenants {
		tenants[i].ID = tenantPolicies + tenants[i].ID
	}
	return append(endless(faultQuota), tenants...)
}

// traffic is callers at work, who ask for single subjects, for users of tenants and
// for tenants by themselves.
type traffic struct {
	asked *history.Recorder

	subjects subjects
	callers  sync.WaitGroup
	ended    context.CancelFunc

	mu      sync.Mutex
	answers []answer // the earliest end first
}

func startTraffic(t *testing.T, ports ports) *traffic {
	t.Helper()
	working, end := context.WithCancel(t.Context())
	w := &traffic{
		asked: history.NewRecorder(ports, snapshot(t, faultPolicies()...)),
		ended: end,
	}
	of := fmt.Sprint(t.Name(), time.Now().UnixNano()) // nobody has asked for these
	w.subjects.add = func(number int) *subject { return w.newSubject(of, number) }
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
	asked, number := w.subjects.take()
	ctx, cancel := context.WithTimeout(context.Background(), callerPatience)
	defer cancel()
	start := time.Now()
	outcome := asked.ask(ctx, number)
	w.note(answer{start, time.Now(), classOf(outcome)})
	w.subjects.giveBack(asked, outcome)
}

func (w *traffic) note(one answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, one)
}

// answersAfter gives the answers without the first n of them.
func (w *traffic) answersAfter(n int) []answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.answers[n:])
}

// await looks at each answer, until satisfied. In between it polls.
func (w *traffic) await(within time.Duration, poll func(), satisfied func(answer) bool) bool {
	seen := 0
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(repeatEvery) {
		poll()
		for _, one := range w.answersAfter(seen) {
			if seen++; satisfied(one) {
				return true
			}
		}
	}
	return false
}

// String counts what callers were answered.
func (w *traffic) String() string {
	classes := make(map[string]int)
	for _, one := range w.answersAfter(0) {
		classes[one.class]++
	}
	return fmt.Sprintf("%d subjects and tenants: %v", len(w.asked.Histories()), classes)
}

// classOf is the label of an outcome, or that it is a decision.
func classOf(outcome any) string {
	switch outcome.(type) {
	case ratelimit.Evaluated, ratelimit.LayeredEvaluated:
		return decision
	}
	return label(outcome)
}

// newSubject is in turn one that is asked for alone and a tenant.
func (w *traffic) newSubject(of string, number int) *subject {
	name := fmt.Sprintf("%s %d", of, number)
	if number%2 == 1 {
		return w.newTenant(name, number/2)
	}
	policies := endless(faultQuota)
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policies[number/2%len(policies)].ID,
		Subject:  digestOf(name),
		Cost:     int64(1 + number/2%2),
	})
	if err != nil {
		panic(err) // everything stands above
	}
	return &subject{mostDoubts: history.MaxDoubts, ask: func(ctx context.Context, _ int) any {
		return w.asked.Evaluate(ctx, request)
	}}
}

// newTenant is one whose first user is asked for every other time, and the tenant by
// itself and the other users in turn. Tenants have all pairs of algorithms.
func (w *traffic) newTenant(name string, number int) *subject {
	algorithms := len(endless(faultQuota))
	policies := faultPolicies()
	user, tenant := policies[number%algorithms], policies[algorithms+number/algorithms%algorithms]
	alone, err := ratelimit.NewRequest(ratelimit.RequestSpec{PolicyID: tenant.ID, Subject: digestOf(name), Cost: 1})
	if err != nil {
		panic(err) // everything stands above
	}
	var requests []ratelimit.LayeredRequest
	for i := range usersInFaults {
		one, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{
			Root: digestOf(name),
			Levels: []ratelimit.Level{
				{Name: fmt.Sprint("user-", i), PolicyID: user.ID, Subject: digestOf(fmt.Sprint(name, i)), Cost: 1, Limit: faultUserQuota},
				{Name: "tenant", PolicyID: tenant.ID, Subject: digestOf(name), Cost: 1},
			},
		})
		if err != nil {
			panic(err) // everything stands above
		}
		requests = append(requests, one)
	}
	// What users can have been charged, and when, is more than that of one subject.
	const mostDoubts = history.MaxDoubts * 2 / 3
	return &subject{mostDoubts: mostDoubts, ask: func(ctx context.Context, call int) any {
		user := 0
		switch call % 4 {
		case 1:
			return w.asked.Evaluate(ctx, alone)
		case 3:
			user = 1 + call/4%(usersInFaults-1)
		}
		return w.asked.EvaluateLayers(ctx, requests[user])
	}}
}

func digestOf(text string) pseudonym.Digest { return sha256.Sum256([]byte(text)) }

// subjects are as many as it takes to keep each one's history short enough to be
// checked, and few enough that callers meet.
type subjects struct {
	add func(number int) *subject

	mu   sync.Mutex
	all  []*subject
	next int
}

type subject struct {
	ask        func(ctx context.Context, number int) any
	taken      int
	calls      int // that were not free, or are open
	doubts     int // or are open
	mostDoubts int
}

// take gives the next subject in turn that has room for a call, and the number of
// that call.
func (s *subjects) take() (one *subject, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one = s.withRoom()
	one.taken++
	one.calls++
	one.doubts++
	return one, one.taken
}

func (s *subjects) withRoom() *subject {
	for range s.all {
		s.next = (s.next + 1) % len(s.all)
		if one := s.all[s.next]; one.hasRoom() {
			return one
		}
	}
	one := s.add(len(s.all))
	s.all = append(s.all, one)
	return one
}

func (s *subjects) giveBack(one *subject, outcome any) {
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
	return s.calls < history.MaxCalls-1 && s.doubts < s.mostDoubts
}

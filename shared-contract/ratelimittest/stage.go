package ratelimittest

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	// lateness is how long after its deadline a call may still answer.
	lateness = time.Second
	// patience bounds the wait for a port that does not answer at all.
	patience = Deadline + 10*time.Second
	// recovery bounds the time from Mend to the first decision.
	recovery = 5 * time.Second
	// pollInterval is the pause between two questions whether a port recovered.
	pollInterval = 5 * time.Millisecond
)

// examiner is what a clause needs of a test. Fatalf does not return.
type examiner interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stage is where one clause is played.
type stage struct {
	examiner

	harness Harness
	catalog *ratelimit.Catalog
	port    ratelimit.EdgePort

	// Of a layered port; nil on the stage of an edge port.
	layered LayeredHarness
	layers  ratelimit.LayeredPort
}

func newStage(examiner examiner, harness Harness, catalog *ratelimit.Catalog) *stage {
	return &stage{examiner: examiner, harness: harness, catalog: catalog, port: harness.NewPort()}
}

func newLayeredStage(examiner examiner, harness LayeredHarness, catalog *ratelimit.Catalog) *stage {
	s := newStage(examiner, harness, catalog)
	s.layered, s.layers = harness, harness.NewLayeredPort()
	return s
}

// enforce puts policies in force instead of those of the same IDs.
func (s *stage) enforce(policies ...ratelimit.Policy) {
	s.Helper()
	byID := make(map[string]ratelimit.Policy)
	for _, policy := range append(s.catalog.Current().Policies(), policies...) {
		byID[policy.ID()] = policy
	}
	var all []ratelimit.Policy
	for _, policy := range byID {
		all = append(all, policy)
	}
	s.catalog.Replace(newSnapshot(all...))
}

// override gives subjects another quota under policy, and nobody else. It returns
// what the policy is to them.
func (s *stage) override(policy ratelimit.Policy, units int64, subjects ...pseudonym.Digest) ratelimit.Policy {
	s.Helper()
	var overrides []ratelimit.Override
	for _, subject := range subjects {
		overrides = append(overrides, ratelimit.Override{PolicyID: policy.ID(), Subject: subject, Limit: units})
	}
	changed, err := policy.WithQuota(units)
	if err != nil {
		s.Fatalf("the suite made an invalid override: %v", err)
	}
	snapshot, err := s.catalog.Current().WithOverrides(overrides...)
	if err != nil {
		s.Fatalf("the suite made an invalid override: %v", err)
	}
	s.catalog.Replace(snapshot)
	return changed
}

// newSubject is one that nobody has seen.
func (s *stage) newSubject() pseudonym.Digest {
	var subject pseudonym.Digest
	_, _ = rand.Read(subject[:]) // never fails
	return subject
}

func (s *stage) request(policy ratelimit.Policy, subject pseudonym.Digest, cost int64) ratelimit.Request {
	s.Helper()
	return s.requestOf(ratelimit.RequestSpec{PolicyID: policy.ID(), Subject: subject, Cost: cost})
}

func (s *stage) requestOf(spec ratelimit.RequestSpec) ratelimit.Request {
	s.Helper()
	request, err := ratelimit.NewRequest(spec)
	if err != nil {
		s.Fatalf("the suite made an invalid request: %v", err)
	}
	return request
}

func withDeadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Deadline)
}

// patiently asks, and does not wait for ever.
func patiently[O any](s *stage, ask func() O) O {
	s.Helper()
	answer := make(chan O, 1)
	go func() { answer <- ask() }()
	select {
	case outcome := <-answer:
		return outcome
	case <-time.After(patience):
		s.Fatalf("no answer after %v", patience)
		panic("unreachable")
	}
}

func (s *stage) call(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	s.Helper()
	return patiently(s, func() ratelimit.Outcome { return s.port.Evaluate(ctx, request) })
}

// evaluate is call with a deadline. A pointer to an outcome passes for the
// outcome: that it is wrong is for one clause to say.
func (s *stage) evaluate(request ratelimit.Request) ratelimit.Outcome {
	s.Helper()
	ctx, cancel := withDeadline()
	defer cancel()
	return pointedAt(s.call(ctx, request))
}

// decide is evaluate for what must come to a decision.
func (s *stage) decide(policy ratelimit.Policy, subject pseudonym.Digest, cost int64) ratelimit.Decision {
	s.Helper()
	outcome := s.evaluate(s.request(policy, subject, cost))
	evaluated, ok := outcome.(ratelimit.Evaluated)
	if !ok {
		s.Fatalf("policy %s: the outcome is %s, must be a decision", policy.ID(), describe(outcome))
	}
	return evaluated.Decision
}

// manyAttempts is enough to spend any quota of the suite, several times.
const manyAttempts = 10 * quota

// spend is how many requests are admitted in a row before one is denied.
func (s *stage) spend(policy ratelimit.Policy, subject pseudonym.Digest, cost int64) int {
	s.Helper()
	for admitted := range manyAttempts {
		if !s.decide(policy, subject, cost).Allowed {
			return admitted
		}
	}
	return manyAttempts
}

// left is how many units a subject can spend. They are spent then.
func (s *stage) left(policy ratelimit.Policy, subject pseudonym.Digest) int {
	s.Helper()
	return s.spend(policy, subject, 1)
}

// whole is what is left to a new subject.
func (s *stage) whole(policy ratelimit.Policy) int {
	s.Helper()
	return s.left(policy, s.newSubject())
}

// wantLeft compares what is left to subject.
func (s *stage) wantLeft(policy ratelimit.Policy, subject pseudonym.Digest, want int, when string) {
	s.Helper()
	if got := s.left(policy, subject); got != want {
		s.Fatalf("policy %s: %d units are left %s, must be %d", policy.ID(), got, when, want)
	}
}

// exhaust spends units until the first denial, which it returns.
func (s *stage) exhaust(policy ratelimit.Policy, subject pseudonym.Digest) ratelimit.Decision {
	s.Helper()
	for range manyAttempts {
		if decision := s.decide(policy, subject, 1); !decision.Allowed {
			return decision
		}
	}
	s.Fatalf("policy %s: none of %d requests was denied", policy.ID(), manyAttempts)
	return ratelimit.Decision{}
}

// answer is an outcome and when it came.
type answer[O any] struct {
	outcome O
	took    time.Duration
}

// atOnce asks many times, all at one time, and waits for every answer.
func atOnce[O any](s *stage, times int, ask func(ctx context.Context, i int) O) []answer[O] {
	s.Helper()
	start := make(chan struct{})
	answers := make(chan answer[O], times)
	for i := range times {
		go func() {
			<-start
			ctx, cancel := withDeadline()
			defer cancel()
			called := time.Now()
			outcome := pointedAt(ask(ctx, i))
			answers <- answer[O]{outcome, time.Since(called)}
		}()
	}
	close(start)
	var all []answer[O]
	late := time.After(patience)
	for len(all) < times {
		select {
		case one := <-answers:
			all = append(all, one)
		case <-late:
			s.Fatalf("%d of %d calls have no answer after %v", times-len(all), times, patience)
		}
	}
	return all
}

// callAtOnce calls ports in turn, all at one time.
func (s *stage) callAtOnce(ports []ratelimit.EdgePort, times int, request ratelimit.Request) []answer[ratelimit.Outcome] {
	s.Helper()
	return atOnce(s, times, func(ctx context.Context, i int) ratelimit.Outcome {
		return ports[i%len(ports)].Evaluate(ctx, request)
	})
}

// probe asks the port that is examined whether it decides.
func (s *stage) probe() (outcome any, decided bool) {
	s.Helper()
	if s.layers != nil {
		outcome = s.evaluateLayers(s.newHierarchy(fixedWindow()))
		_, decided = outcome.(ratelimit.LayeredEvaluated)
		return outcome, decided
	}
	outcome = s.evaluate(s.request(fixedWindow(), s.newSubject(), 1))
	_, decided = outcome.(ratelimit.Evaluated)
	return outcome, decided
}

// connect sees to it that the next call finds a connection.
func (s *stage) connect() {
	s.Helper()
	if outcome, decided := s.probe(); !decided {
		s.Fatalf("the outcome is %s, must be a decision", describe(outcome))
	}
}

func (s *stage) disconnect() {
	s.Helper()
	s.connect()
	s.harness.Disconnect()
}

func (s *stage) loseReplies() {
	s.Helper()
	s.connect()
	s.harness.LoseReplies()
}

// mend mends, and waits until the port decides again.
func (s *stage) mend() {
	s.Helper()
	s.harness.Mend()
	for deadline := time.Now().Add(recovery); ; {
		outcome, decided := s.probe()
		if decided {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%v after the store is back the outcome is %s, must be a decision", recovery, describe(outcome))
		}
		time.Sleep(pollInterval) //nolint:forbidigo // this is the poll with a deadline
	}
}

// moment is when the store decided.
func moment(decision ratelimit.Decision) time.Time {
	return decision.ResetAt.Add(-decision.ResetAfter)
}

// pointedAt is an outcome itself where there is a pointer to it.
func pointedAt[O any](outcome O) O {
	if pointer := reflect.ValueOf(outcome); pointer.Kind() == reflect.Pointer && !pointer.IsNil() {
		if value, ok := pointer.Elem().Interface().(O); ok {
			return value
		}
	}
	return outcome
}

// describe names an outcome in a few words.
func describe(outcome any) string {
	switch o := outcome.(type) {
	case ratelimit.Evaluated:
		if o.Decision.Allowed {
			return "allowed"
		}
		return "denied"
	case ratelimit.LayeredEvaluated:
		if o.Decision.Allowed() {
			return "allowed"
		}
		return fmt.Sprintf("denied by %q", o.Decision.RefusedBy())
	case ratelimit.Unavailable:
		return fmt.Sprintf("Unavailable(%s)", o.Category)
	case ratelimit.Indeterminate:
		return fmt.Sprintf("Indeterminate(%s)", o.Category)
	case ratelimit.Incompatible:
		return fmt.Sprintf("Incompatible(%s)", o.Category)
	default:
		return fmt.Sprintf("%T", outcome)
	}
}

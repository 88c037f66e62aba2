package history

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that every history which a correct port may write is accepted, whatever
// becomes of what is in doubt, and that one charge too many or too few is not.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		port func(*store) ratelimit.EdgePort
		want error
	}{
		"decides":                    {func(s *store) ratelimit.EdgePort { return s.port() }, nil},
		"leaves in doubt, charged":   {chargesInDoubt, nil},
		"leaves in doubt, uncharged": {doubtsInVain, nil},
		"charges later":              {chargesLater, nil},
		"refuses":                    {refuses, nil},

		"charges twice":           {chargesTwice, ErrImpossible},
		"charges twice, in doubt": {chargesTwiceInDoubt, ErrImpossible},
		"charges and refuses":     {chargesAndRefuses, ErrImpossible},
		"allows without a charge": {allowsForFree, ErrImpossible},
		"makes an admission up":   {makesUp, ErrImpossible},
		"forgets all charges":     {forgets, ErrImpossible},
	} {
		for algorithm, parameters := range map[string]ratelimit.Parameters{
			"fixed window":    ratelimit.FixedWindow{Limit: 200, Window: decade},
			"sliding counter": ratelimit.SlidingCounter{Limit: 200, Window: season},
			"sliding log":     ratelimit.SlidingLog{Limit: 200, Window: decade},
			"token bucket":    ratelimit.TokenBucket{Capacity: 200, RefillTokens: 200, RefillInterval: decade},
		} {
			t.Run(name+", "+algorithm, func(t *testing.T) {
				t.Parallel()
				policies := snapshot(t, parameters)
				recorder := NewRecorder(alone(test.port)(newStore(policies)), policies)
				ask(t, recorder)
				histories := recorder.Histories()
				if len(histories) != subjects {
					t.Fatalf("%d histories, want %d", len(histories), subjects)
				}
				var errs []error
				for _, history := range histories {
					errs = append(errs, history.Check())
				}
				if err := errors.Join(errs...); !errors.Is(err, test.want) || test.want == nil && err != nil {
					t.Errorf("checking says %v, want %v; one history is\n%v", err, test.want, histories[0])
				}
			})
		}
	}
}

// Ensure that a history which is too long to be checked is not taken for a good
// one.
func TestCheckIsBounded(t *testing.T) {
	policies := snapshot(t, ratelimit.FixedWindow{Limit: 1, Window: decade})
	for name, test := range map[string]struct {
		port  ratelimit.EdgePort
		calls int
		want  error
	}{
		"as many calls as may be":  {newStore(policies).port(), MaxCalls, nil},
		"too many calls":           {newStore(policies).port(), MaxCalls + 1, errUnbounded},
		"as many doubts as may be": {ratelimittest.AlwaysIndeterminate(failure.NoReply, 0), MaxDoubts, nil},
		"too many doubts":          {ratelimittest.AlwaysIndeterminate(failure.NoReply, 0), MaxDoubts + 1, errUnbounded},
		"what is free":             {ratelimittest.AlwaysUnavailable(failure.Connection, 0), MaxCalls + 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := NewRecorder(ports{EdgePort: test.port}, policies)
			for range test.calls {
				evaluate(t, recorder, "p", 1)
			}
			if err := recorder.Histories()[0].Check(); !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("checking says %v, want %v", err, test.want)
			}
		})
	}
}

// Ensure that sums count what their names say.
func TestSums(t *testing.T) {
	policies := snapshot(t, ratelimit.FixedWindow{Limit: 5, Window: decade})
	recorder := NewRecorder(alone(chargesInDoubt)(newStore(policies)), policies)
	for range every {
		evaluate(t, recorder, "p", 2)
	}
	// Two are allowed, and the last one is in doubt; the others are denied.
	history, of := recorder.Histories()[0], Counter{"p", pseudonym.Digest{2, 1}}
	if admitted, doubtful := history.Admitted()[of], history.Doubtful()[of]; admitted != 4 || doubtful != 2 {
		t.Errorf("%d admitted and %d in doubt, want 4 and 2", admitted, doubtful)
	}
}

// Windows that do not end while a test runs: a fixed window of ten years next
// does in 2030, and a sliding one can be no longer than some hundred days.
const (
	day    = 24 * time.Hour
	decade = 3660 * day
	season = 104 * day
)

const (
	callers  = 32
	subjects = 4
	each     = 30 // calls of each caller
	every    = 80 // calls after which the ports below misbehave: MaxDoubts times in all
)

// ask has callers ask about subjects at the same time.
func ask(t *testing.T, port ratelimit.EdgePort) {
	var asking sync.WaitGroup
	for caller := range callers {
		asking.Go(func() {
			for n := range each {
				evaluate(t, port, "p", byte((caller+n)%subjects))
			}
		})
	}
	asking.Wait()
}

// evaluate asks for a cost of 1 for subjects 0 and 1, and of 2 for others.
func evaluate(t *testing.T, port ratelimit.EdgePort, policy string, subject byte) {
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policy, Subject: pseudonym.Digest{subject, 1}, Cost: 1 + int64(subject/2),
	})
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	port.Evaluate(ctx, request)
}

func snapshot(t *testing.T, parameters ratelimit.Parameters) *ratelimit.Snapshot {
	t.Helper()
	return snapshotOf(t, map[string]ratelimit.Parameters{"p": parameters})
}

// snapshotOf has a policy for each ID.
func snapshotOf(t *testing.T, all map[string]ratelimit.Parameters) *ratelimit.Snapshot {
	t.Helper()
	var policies []ratelimit.Policy
	for id, parameters := range all {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID: id, Revision: 1, Parameters: parameters, MaxCost: parameters.Quota(),
			MaxClockRegression: time.Second, CleanupGrace: time.Minute, FailurePolicy: ratelimit.FailClosed,
		})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// store is a correct port that those below misuse, each time they have let some
// calls pass.
type store struct {
	policies *ratelimit.Snapshot
	memory   atomic.Pointer[ratelimittest.Memory]
	calls    atomic.Int64
}

func newStore(policies *ratelimit.Snapshot) *store {
	s := &store{policies: policies}
	s.reset()
	return s
}

func (s *store) reset() {
	s.memory.Store(ratelimittest.NewMemory(ratelimit.NewCatalog(s.policies), time.Now))
}

func (s *store) port() *ratelimittest.Memory { return s.memory.Load() }

// otherwise lets misbehave answer each time when some calls have passed.
func (s *store) otherwise(misbehave port) ratelimit.EdgePort {
	return port(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if s.calls.Add(1)%every == 0 {
			return misbehave(ctx, request)
		}
		return s.port().Evaluate(ctx, request)
	})
}

type port func(context.Context, ratelimit.Request) ratelimit.Outcome

func (p port) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return p(ctx, request)
}

var (
	doubt   = ratelimittest.AlwaysIndeterminate(failure.NoReply, 0)
	refusal = ratelimittest.AlwaysUnavailable(failure.Connection, 0)
)

func chargesInDoubt(s *store) ratelimit.EdgePort {
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		s.port().Evaluate(ctx, request)
		return doubt(request)
	})
}

func doubtsInVain(s *store) ratelimit.EdgePort {
	return s.otherwise(func(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
		return doubt(request)
	})
}

// chargesLater charges what it has left in doubt when it does so the next time.
func chargesLater(s *store) ratelimit.EdgePort {
	var mu sync.Mutex
	var pending ratelimit.Request
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		mu.Lock()
		defer mu.Unlock()
		s.port().Evaluate(ctx, pending)
		pending = request
		return doubt(request)
	})
}

func refuses(s *store) ratelimit.EdgePort {
	return s.otherwise(func(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
		return refusal(request)
	})
}

func chargesTwice(s *store) ratelimit.EdgePort {
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		s.port().Evaluate(ctx, request)
		return s.port().Evaluate(ctx, request)
	})
}

func chargesTwiceInDoubt(s *store) ratelimit.EdgePort {
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		s.port().Evaluate(ctx, request)
		s.port().Evaluate(ctx, request)
		return doubt(request)
	})
}

func chargesAndRefuses(s *store) ratelimit.EdgePort {
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		s.port().Evaluate(ctx, request)
		return refusal(request)
	})
}

// allowsForFree gives an answer that it has given before.
func allowsForFree(s *store) ratelimit.EdgePort {
	var given sync.Map
	port := s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if outcome, known := given.Load(request.Subject()); known {
			return outcome.(ratelimit.Outcome)
		}
		return s.port().Evaluate(ctx, request)
	})
	return noting(func(request ratelimit.Request, outcome ratelimit.Outcome) {
		given.Store(request.Subject(), outcome)
	}, port)
}

// makesUp answers what is true only of a subject that has spent nothing, at a moment
// that never was.
func makesUp(s *store) ratelimit.EdgePort {
	policy, _ := s.policies.Policy("p")
	return s.otherwise(func(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
		return ratelimittest.AlwaysAllows(policy)(request)
	})
}

// noting lets note see what port answers.
func noting(note func(ratelimit.Request, ratelimit.Outcome), answers ratelimit.EdgePort) ratelimit.EdgePort {
	return port(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		outcome := answers.Evaluate(ctx, request)
		note(request, outcome)
		return outcome
	})
}

func forgets(s *store) ratelimit.EdgePort {
	return s.otherwise(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		s.reset()
		return s.port().Evaluate(ctx, request)
	})
}

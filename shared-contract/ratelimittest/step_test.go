package ratelimittest_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

func newPolicy(t testing.TB, parameters ratelimit.Parameters) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "p", Revision: 1, Parameters: parameters, MaxCost: parameters.Quota(),
		CleanupGrace: time.Minute, MaxClockRegression: 250 * time.Millisecond, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// step is one evaluation at a moment, in ms, and what must come of it.
type step struct {
	at, cost  int64
	allowed   bool
	remaining int64
	retry     int64
}

// Ensure that the model follows traces whose results were worked out by hand.
func TestStepFollowsKnownTraces(t *testing.T) {
	second := time.Second
	for name, trace := range map[string]struct {
		parameters ratelimit.Parameters
		steps      []step
	}{
		"fixed window, both sides of a border": {
			ratelimit.FixedWindow{Limit: 10, Window: 60 * second},
			[]step{{59_900, 10, true, 0, 0}, {59_900, 1, false, 0, 100}, {60_100, 10, true, 0, 0}, {60_100, 1, false, 0, 59_900}},
		},
		"fixed window, remaining never negative": {
			ratelimit.FixedWindow{Limit: 3, Window: 60 * second},
			[]step{{0, 1, true, 2, 0}, {0, 1, true, 1, 0}, {0, 1, true, 0, 0}, {0, 1, false, 0, 60_000}, {0, 1, false, 0, 60_000}},
		},
		"sliding counter, the previous window counts": {
			ratelimit.SlidingCounter{Limit: 100, Window: 10 * second},
			[]step{{9_900, 100, true, 0, 0}, {10_500, 5, true, 0, 0}, {10_500, 1, false, 0, 100}},
		},
		"sliding counter, limit one": {
			ratelimit.SlidingCounter{Limit: 1, Window: second},
			[]step{{900, 1, true, 0, 0}, {1_100, 1, false, 0, 900}, {2_000, 1, true, 0, 0}},
		},
		"sliding counter, burst at a border": {
			ratelimit.SlidingCounter{Limit: 10, Window: 60 * second},
			[]step{{59_900, 10, true, 0, 0}, {60_100, 1, false, 0, 5_900}},
		},
		"sliding log, a burst at a border": {
			ratelimit.SlidingLog{Limit: 10, Window: 60 * second},
			[]step{{59_900, 10, true, 0, 0}, {60_100, 1, false, 0, 59_800}, {119_899, 1, false, 0, 1}, {119_900, 10, true, 0, 0}},
		},
		"sliding log, the wait is for as many of the oldest as it takes": {
			ratelimit.SlidingLog{Limit: 5, Window: 10 * second},
			[]step{{1_000, 2, true, 3, 0}, {2_000, 1, true, 2, 0}, {4_000, 2, true, 0, 0}, {5_000, 1, false, 0, 6_000},
				{5_000, 3, false, 0, 7_000}, {5_000, 4, false, 0, 9_000}, {11_000, 2, true, 0, 0}, {12_000, 1, true, 0, 0}},
		},
		"sliding log, what has left stays out though it is kept": {
			ratelimit.SlidingLog{Limit: 3, Window: second},
			[]step{{0, 2, true, 1, 0}, {900, 1, true, 0, 0}, {1_000, 3, false, 2, 900}, {1_000, 2, true, 0, 0}, {1_899, 1, false, 0, 1}},
		},
		"sliding log, a clock that runs back a little": {
			ratelimit.SlidingLog{Limit: 2, Window: second},
			[]step{{10_000, 1, true, 1, 0}, {9_800, 1, true, 0, 0}, {9_800, 1, false, 0, 1_200}},
		},
		"bucket, idle does not overfill": {
			ratelimit.TokenBucket{Capacity: 5, RefillTokens: 1, RefillInterval: second},
			[]step{{0, 1, true, 4, 0}, {60_000, 1, true, 4, 0}},
		},
		"bucket, wait is divided by the rate": {
			ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillInterval: 2 * second},
			[]step{{0, 1, true, 0, 0}, {0, 1, false, 0, 2_000}, {1_999, 1, false, 0, 1}, {2_000, 1, true, 0, 0}},
		},
		"bucket, spent debt does not vanish": {
			ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: 10 * second},
			[]step{{0, 10, true, 0, 0}, {10_100, 1, true, 0, 0}, {10_100, 1, false, 0, 9_900}, {20_100, 1, true, 0, 0}, {20_100, 1, false, 0, 9_900}},
		},
		"a clock that runs back a little": {
			ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillInterval: second},
			[]step{{10_000, 1, true, 1, 0}, {9_800, 1, true, 0, 0}, {9_800, 1, false, 0, 1_200}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := newPolicy(t, trace.parameters)
			var state ratelimittest.State
			for i, want := range trace.steps {
				var got ratelimittest.Verdict
				state, got = ratelimittest.Step(policy, state, want.at, want.cost)
				if got.Allowed != want.allowed || got.Remaining != want.remaining || got.RetryAfter != want.retry {
					t.Fatalf("step %d: allowed %v, %d remaining, retry %d; must be %+v", i, got.Allowed, got.Remaining, got.RetryAfter, want)
				}
			}
		})
	}
}

// Ensure that a steady stream against a bucket is admitted at its rate: 3 per
// second asked every 100 ms for 10 s, from a full bucket of 3.
func TestSteadyStream(t *testing.T) {
	policy := newPolicy(t, ratelimit.TokenBucket{Capacity: 3, RefillTokens: 3, RefillInterval: time.Second})
	var state ratelimittest.State
	admitted := 0
	for at := int64(0); at < 10_000; at += 100 {
		var verdict ratelimittest.Verdict
		if state, verdict = ratelimittest.Step(policy, state, at, 1); verdict.Allowed {
			admitted++
		}
	}
	if admitted != 32 {
		t.Errorf("%d admitted, must be 32", admitted)
	}
}

// Ensure the properties that hold for every algorithm: the announced wait is the
// shortest that admits, remaining stays within the limit and falls by the cost,
// and a denial changes nothing.
func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		quota := 1 + random.Int64N(50)
		span := time.Duration(1+random.Int64N(5_000)) * time.Millisecond
		for _, parameters := range []ratelimit.Parameters{
			ratelimit.FixedWindow{Limit: quota, Window: span},
			ratelimit.SlidingCounter{Limit: quota, Window: span},
			ratelimit.SlidingLog{Limit: quota, Window: span},
			ratelimit.TokenBucket{Capacity: quota, RefillTokens: 1 + random.Int64N(20), RefillInterval: span},
		} {
			policy := newPolicy(t, parameters)
			var state ratelimittest.State
			now := random.Int64N(100_000)
			for range 12 {
				now += random.Int64N(int64(span/time.Millisecond) + 1)
				cost := 1 + random.Int64N(quota)
				next, verdict := ratelimittest.Step(policy, state, now, cost)
				if verdict.Remaining < 0 || verdict.Remaining > quota || verdict.ResetAt < now {
					t.Fatalf("%+v at %d: %+v", parameters, now, verdict)
				}
				if verdict.Allowed {
					state = next
					continue
				}
				if !next.Equal(state) || verdict.RetryAfter < 1 {
					t.Fatalf("%+v at %d: a denial changed the state or says no wait: %+v", parameters, now, verdict)
				}
				if _, early := ratelimittest.Step(policy, state, now+verdict.RetryAfter-1, cost); early.Allowed {
					t.Fatalf("%+v, %+v at %d, cost %d: admitted before the announced wait of %d", parameters, state, now, cost, verdict.RetryAfter)
				}
				if _, late := ratelimittest.Step(policy, state, now+verdict.RetryAfter, cost); !late.Allowed {
					t.Fatalf("%+v, %+v at %d, cost %d: denied after the announced wait of %d", parameters, state, now, cost, verdict.RetryAfter)
				}
			}
		}
	}
}

// Ensure that a denial by a log leaves what has left in it, and an admission does
// not.
func TestLogIsTrimmedByAdmissionsOnly(t *testing.T) {
	policy := newPolicy(t, ratelimit.SlidingLog{Limit: 2, Window: time.Second})
	var state ratelimittest.State
	for _, test := range []struct {
		at, cost int64
		want     []ratelimittest.Spent
	}{
		{0, 1, []ratelimittest.Spent{{At: 0, Units: 1}}},
		{900, 1, []ratelimittest.Spent{{At: 0, Units: 1}, {At: 900, Units: 1}}},
		{1_000, 2, []ratelimittest.Spent{{At: 0, Units: 1}, {At: 900, Units: 1}}},
		{1_100, 1, []ratelimittest.Spent{{At: 900, Units: 1}, {At: 1_100, Units: 1}}},
	} {
		before := state
		held := slices.Clone(state.Log)
		state, _ = ratelimittest.Step(policy, state, test.at, test.cost)
		if !slices.Equal(state.Log, test.want) {
			t.Errorf("at %d the log is %v, must be %v", test.at, state.Log, test.want)
		}
		if !slices.Equal(before.Log, held) {
			t.Errorf("at %d the state before has changed: its log is %v, was %v", test.at, before.Log, held)
		}
	}
}

// Ensure that states are told apart by all that they remember.
func TestStateEqual(t *testing.T) {
	remembering := func() ratelimittest.State {
		return ratelimittest.State{
			Seen: true, LastObserved: 1, Current: 2, Previous: 3, Debt: 4, Log: []ratelimittest.Spent{{At: 5, Units: 6}},
		}
	}
	state := remembering()
	if !state.Equal(remembering()) {
		t.Error("what is remembered twice is told apart")
	}
	for name, edit := range map[string]func(*ratelimittest.State){
		"seen":          func(s *ratelimittest.State) { s.Seen = false },
		"last observed": func(s *ratelimittest.State) { s.LastObserved++ },
		"current":       func(s *ratelimittest.State) { s.Current++ },
		"previous":      func(s *ratelimittest.State) { s.Previous++ },
		"debt":          func(s *ratelimittest.State) { s.Debt++ },
		"log":           func(s *ratelimittest.State) { s.Log = []ratelimittest.Spent{{At: 5, Units: 7}} },
	} {
		other := remembering()
		edit(&other)
		if state.Equal(other) {
			t.Errorf("%s makes no difference", name)
		}
	}
}

// Ensure, for levels of every algorithm, that they are charged together as each
// would be by itself, or not at all; that a level refuses what it would refuse by
// itself; and that one which admits beside a refusal says what it says when nothing
// is asked.
func TestStepLayersAgreesWithStep(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	allowed, denied := 0, 0
	for range 2_000 {
		layers := randomLayers(t, random)
		now := random.Int64N(100_000)
		for range 20 {
			now += random.Int64N(700)
			for i := range layers {
				layers[i].Cost = 1 + random.Int64N(layers[i].Policy.MaxCost())
			}
			states, verdicts := ratelimittest.StepLayers(now, layers...)
			together := !slices.ContainsFunc(verdicts, func(v ratelimittest.Verdict) bool { return !v.Allowed })
			for i, layer := range layers {
				state, verdict := ratelimittest.Step(layer.Policy, layer.State, now, layer.Cost)
				if !together {
					state = layer.State
				}
				if verdicts[i].Allowed && !together {
					verdict = uncharged(layer, now)
				}
				if !states[i].Equal(state) || verdicts[i] != verdict {
					t.Fatalf("level %d of %+v at %d: %+v and %+v, must be %+v and %+v", i, layers, now, verdicts[i], states[i], verdict, state)
				}
				layers[i].State = states[i]
			}
			if together {
				allowed++
			} else {
				denied++
			}
		}
	}
	if min(allowed, denied) < 5_000 {
		t.Errorf("%d allowed and %d denied say little", allowed, denied)
	}
}

func randomLayers(t *testing.T, random *rand.Rand) []ratelimittest.Layer {
	t.Helper()
	layers := make([]ratelimittest.Layer, 1+random.IntN(ratelimit.MaxLevels))
	for i := range layers {
		quota, span := 1+random.Int64N(20), time.Duration(1+random.Int64N(5_000))*time.Millisecond
		layers[i].Policy = newPolicy(t, []ratelimit.Parameters{
			ratelimit.FixedWindow{Limit: quota, Window: span},
			ratelimit.SlidingCounter{Limit: quota, Window: span},
			ratelimit.SlidingLog{Limit: quota, Window: span},
			ratelimit.TokenBucket{Capacity: quota, RefillTokens: 1 + random.Int64N(20), RefillInterval: span},
		}[random.IntN(4)])
	}
	return layers
}

// uncharged is what an admission says that is not charged, worked out from what is
// remembered and what is admitted.
func uncharged(layer ratelimittest.Layer, now int64) ratelimittest.Verdict {
	verdict := ratelimittest.Verdict{Allowed: true, Now: now, Effective: now}
	for verdict.Remaining < layer.Policy.MaxCost() {
		if _, next := ratelimittest.Step(layer.Policy, layer.State, now, verdict.Remaining+1); !next.Allowed {
			break
		}
		verdict.Remaining++
	}
	verdict.ResetAt = whole(layer, now)
	return verdict
}

// whole is the first moment at which the whole quota is admitted; of a fixed
// window, its end.
func whole(layer ratelimittest.Layer, now int64) int64 {
	if _, all := ratelimittest.Step(layer.Policy, layer.State, now, layer.Policy.Quota()); !all.Allowed {
		return now + all.RetryAfter
	}
	if window, fixed := layer.Policy.Parameters().(ratelimit.FixedWindow); fixed {
		span := window.Window.Milliseconds()
		return (now/span + 1) * span
	}
	return now
}

// Ensure that no level is charged while the clock of one is unsafe.
func TestStepLayersMindsTheClock(t *testing.T) {
	policy := newPolicy(t, ratelimit.SlidingLog{Limit: 5, Window: time.Minute})
	ahead, _ := ratelimittest.Step(policy, ratelimittest.State{}, 10_000, 1)
	layers := []ratelimittest.Layer{{Policy: policy, Cost: 1}, {Policy: policy, State: ahead, Cost: 1}}
	states, verdicts := ratelimittest.StepLayers(9_000, layers...)
	if verdicts[0].ClockUnsafe || !verdicts[1].ClockUnsafe || verdicts[1].RetryAfter != 750 {
		t.Errorf("verdicts are %+v", verdicts)
	}
	if !states[0].Equal(layers[0].State) || !states[1].Equal(ahead) {
		t.Errorf("states are %+v", states)
	}
}

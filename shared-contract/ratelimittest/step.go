package ratelimittest

import (
	"slices"

	"example.com/weir/shared-contract/ratelimit"
)

// State is what is remembered of one subject under one policy. Which counts
// matter depends on the algorithm; the zero State is that of a new subject.
// States are never changed, so that copies of one may share its log.
type State struct {
	// Seen is false for a new subject.
	Seen bool
	// LastObserved is the time of the last admission, in ms since the epoch.
	LastObserved int64
	// Current counts the units spent in the window of LastObserved.
	Current int64
	// Previous counts the units spent in the window before it (sliding counter).
	Previous int64
	// Debt is what a token bucket lacks from full at LastObserved, in units of
	// 1/interval token, where interval is in ms and reduced against the refill.
	Debt int64
	// Log holds the admissions that a sliding log counts, the oldest first, and
	// those that it has counted until the last one.
	Log []Spent
}

// Spent is one admission: when, in ms since the epoch, and how many units.
type Spent struct {
	At, Units int64
}

// Equal reports whether s and other remember the same.
func (s State) Equal(other State) bool {
	return s.Seen == other.Seen && s.LastObserved == other.LastObserved &&
		s.Current == other.Current && s.Previous == other.Previous &&
		s.Debt == other.Debt && slices.Equal(s.Log, other.Log)
}

// Verdict is what one step comes to. All times are in ms.
type Verdict struct {
	Allowed bool
	// ClockUnsafe: the clock ran back too far and nothing was decided.
	ClockUnsafe bool
	// Now is the clock that the step was given; Effective is Now or, when the
	// clock ran back a little, the last time observed.
	Now, Effective int64
	Remaining      int64
	// RetryAfter is counted from Now; zero on an admission.
	RetryAfter int64
	ResetAt    int64
}

// Step is the model: it evaluates cost under policy at now and returns the
// state afterwards, which is the given one unless the verdict is an admission.
// cost is 1 to the policy's maximum. It panics on parameters that it does not
// know.
func Step(policy ratelimit.Policy, state State, now, cost int64) (State, Verdict) {
	states, verdicts := StepLayers(now, Layer{Policy: policy, State: state, Cost: cost})
	return states[0], verdicts[0]
}

// Layer is one level of [StepLayers]: its effective policy, its state, and a cost
// of 1 to the policy's maximum.
type Layer struct {
	Policy ratelimit.Policy
	State  State
	Cost   int64
}

// StepLayers is the model of several levels, which it evaluates as [Step] does
// one. It returns their states afterwards, which are the given ones unless every
// verdict is an admission, and each level's own verdict. If a level admits what
// another does not, it tells what is left and when it resets as if nothing had
// been asked.
func StepLayers(now int64, layers ...Layer) ([]State, []Verdict) {
	states, verdicts := make([]State, len(layers)), make([]Verdict, len(layers))
	charged := make([]standing, len(layers))
	every := true
	for i, layer := range layers {
		states[i] = layer.State
		charged[i], verdicts[i] = layer.look(now)
		every = every && verdicts[i].Allowed
	}
	if !every {
		return states, verdicts
	}
	for i, standing := range charged {
		states[i] = standing.state()
		states[i].Seen, states[i].LastObserved = true, verdicts[i].Effective
		verdicts[i].Remaining, verdicts[i].ResetAt = standing.remaining(), standing.resetAt()
	}
	return states, verdicts
}

// look returns the verdict on a level as it stands uncharged, and how it would
// stand charged.
func (l Layer) look(now int64) (standing, Verdict) {
	effective := now
	if l.State.Seen && l.State.LastObserved > now {
		bound := l.Policy.MaxClockRegression().Milliseconds()
		if l.State.LastObserved-now > bound {
			return nil, Verdict{ClockUnsafe: true, Now: now, Effective: now, RetryAfter: l.State.LastObserved - bound - now}
		}
		effective = l.State.LastObserved
	}
	standing := standingOf(l.Policy.Parameters(), l.State, effective)
	verdict := Verdict{
		Allowed: standing.admits(l.Cost), Now: now, Effective: effective,
		Remaining: standing.remaining(), ResetAt: standing.resetAt(),
	}
	if !verdict.Allowed {
		verdict.RetryAfter = standing.admitsAt(l.Cost) - now
		return nil, verdict
	}
	return standing.charged(l.Cost), verdict
}

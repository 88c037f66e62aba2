package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Bounds of a history that can be checked in a moment. Calls that have certainly
// charged nothing do not count.
const (
	MaxCalls  = 300
	MaxDoubts = 12
)

// patience is how long a check may take.
const patience = 20 * time.Second

var (
	// ErrImpossible says that no order of the calls explains the answers.
	ErrImpossible = errors.New("no order of the calls explains the answers")

	errUnbounded = fmt.Errorf("more than %d calls or %d of them in doubt", MaxCalls, MaxDoubts)
	errUndecided = fmt.Errorf("not decided within %v", patience)
)

// event is a call that may have changed or shown some counters. Calls that are free
// have done neither, so that the others must be explained without them.
type event struct {
	start, end time.Time
	charges    []charge // all of them are made, or none
	decided    bool     // it is not in doubt
	now        int64    // when it was decided, in ms since the epoch
}

// charge is what a call wanted of a counter, and of a decision what it said.
type charge struct {
	counter   int
	policy    ratelimit.Policy
	cost      int64
	allowed   bool
	remaining int64
}

// decide notes what was decided of each charge.
func (e *event) decide(decisions ...ratelimit.Decision) {
	e.decided = true
	for i, decision := range decisions {
		e.charges[i].allowed, e.charges[i].remaining = decision.Allowed, decision.Remaining
		e.now = decision.ResetAt.Add(-decision.ResetAfter).UnixMilli() // by the store's clock
	}
}

// explain looks for an order of the events in which counters, unknown at first,
// show what was answered.
func explain(events []event, counters int) error {
	operations, doubts := operationsOf(events)
	if len(operations) > MaxCalls || doubts > MaxDoubts {
		return errUnbounded
	}
	switch porcupine.CheckOperationsTimeout(model(counters), operations, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return ErrImpossible
	}
	return errUndecided
}

func operationsOf(events []event) (operations []porcupine.Operation, doubts int) {
	for _, e := range events {
		operation := porcupine.Operation{
			Input:  e,
			Call:   e.start.Sub(events[0].start).Nanoseconds(),
			Return: e.end.Sub(events[0].start).Nanoseconds(),
		}
		if !e.decided {
			// It may still be on its way. Put after everything else, where nobody
			// sees its charge, it was not charged.
			operation.Return = math.MaxInt64
			doubts++
		}
		operations = append(operations, operation)
	}
	return operations, doubts
}

// model keeps the state of each counter.
func model(counters int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return make([]ratelimittest.State, counters) },
		Equal: func(a, b any) bool {
			return slices.EqualFunc(a.([]ratelimittest.State), b.([]ratelimittest.State), ratelimittest.State.Equal)
		},
		Step: func(before, input, _ any) (bool, any) {
			return input.(event).step(before.([]ratelimittest.State))
		},
	}
}

// step gives the states after the event, and whether it says what the model does.
func (e event) step(before []ratelimittest.State) (bool, []ratelimittest.State) {
	now := e.now
	if !e.decided {
		now = e.sometime(before)
	}
	layers := make([]ratelimittest.Layer, len(e.charges))
	for i, one := range e.charges {
		layers[i] = ratelimittest.Layer{Policy: one.policy, State: before[one.counter], Cost: one.cost}
	}
	states, verdicts := ratelimittest.StepLayers(now, layers...)
	after, explained := slices.Clone(before), true
	for i, one := range e.charges {
		after[one.counter] = compact(states[i])
		verdict := verdicts[i]
		explained = explained && !verdict.ClockUnsafe && verdict.Allowed == one.allowed && verdict.Remaining == one.remaining
	}
	return explained || !e.decided, after
}

// sometime is a moment at which an event that is in doubt can have been charged.
func (e event) sometime(states []ratelimittest.State) int64 {
	latest := int64(0)
	for _, one := range e.charges {
		latest = max(latest, states[one.counter].LastObserved)
	}
	if latest > 0 {
		return latest
	}
	return e.start.UnixMilli()
}

// compact is a state with one entry for all that a log holds. None of them leaves
// the window while a history lasts, so it makes no difference when they came.
func compact(state ratelimittest.State) ratelimittest.State {
	if len(state.Log) > 1 {
		all := ratelimittest.Spent{At: state.Log[0].At}
		for _, entry := range state.Log {
			all.Units += entry.Units
		}
		state.Log = []ratelimittest.Spent{all}
	}
	return state
}

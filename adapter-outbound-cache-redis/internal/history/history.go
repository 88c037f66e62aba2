package history

import (
	"errors"
	"fmt"
	"math"
	"strings"
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

// History is what was asked of one subject under one policy, and was answered.
type History struct {
	Policy ratelimit.Policy
	Calls  []Call
}

// Admitted is the sum of the costs of what was allowed.
func (h History) Admitted() int64 {
	return h.sum(func(outcome ratelimit.Outcome) bool {
		evaluated, decided := outcome.(ratelimit.Evaluated)
		return decided && evaluated.Decision.Allowed
	})
}

// Doubtful is the sum of the costs of what may have been charged or not.
func (h History) Doubtful() int64 { return h.sum(InDoubt) }

func (h History) sum(counts func(ratelimit.Outcome) bool) int64 {
	var sum int64
	for _, call := range h.Calls {
		if counts(call.Outcome) {
			sum += call.Request.Cost()
		}
	}
	return sum
}

// InDoubt reports whether an outcome leaves open if something was charged.
func InDoubt(outcome ratelimit.Outcome) bool {
	return !isDecision(outcome) && !IsFree(outcome)
}

// IsFree reports whether an outcome promises that nothing was charged although
// nothing was decided.
func IsFree(outcome ratelimit.Outcome) bool {
	_, unavailable := outcome.(ratelimit.Unavailable)
	return unavailable
}

func isDecision(outcome ratelimit.Outcome) bool {
	_, evaluated := outcome.(ratelimit.Evaluated)
	return evaluated
}

// Check returns [ErrImpossible] unless the subject, unknown at first, can have
// been charged for each admission once and for nothing else, each charge between
// start and end of its call, so that every decision is the model's. What is in
// doubt can have been charged at any time after its start, or not at all.
//
// When something in doubt was charged is not known, so the policy must be one
// under which it makes no difference: whose window does not end, and that repays
// less than a unit, while the history lasts.
func (h History) Check() error {
	operations, doubts := h.operations()
	if len(operations) > MaxCalls || doubts > MaxDoubts {
		return errUnbounded
	}
	switch porcupine.CheckOperationsTimeout(h.model(), operations, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return ErrImpossible
	}
	return errUndecided
}

// operations are the calls that may have changed or shown the state. Those that
// are free must have done neither, so the others are explained without them.
func (h History) operations() (operations []porcupine.Operation, doubts int) {
	for _, call := range h.Calls {
		if IsFree(call.Outcome) {
			continue
		}
		operation := porcupine.Operation{
			Input:  call,
			Call:   call.Start.Sub(h.Calls[0].Start).Nanoseconds(),
			Return: call.End.Sub(h.Calls[0].Start).Nanoseconds(),
		}
		if InDoubt(call.Outcome) {
			// It may still be on its way. Put after everything else, where nobody
			// sees its charge, it was not charged.
			operation.Return = math.MaxInt64
			doubts++
		}
		operations = append(operations, operation)
	}
	return operations, doubts
}

func (h History) model() porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return ratelimittest.State{} },
		Equal: func(a, b any) bool { return a.(ratelimittest.State).Equal(b.(ratelimittest.State)) },
		Step: func(before, input, _ any) (bool, any) {
			state, call := before.(ratelimittest.State), input.(Call)
			evaluated, decided := call.Outcome.(ratelimit.Evaluated)
			if !decided {
				after, _ := ratelimittest.Step(h.Policy, state, sometime(state, call), call.Request.Cost())
				return true, after
			}
			decision := evaluated.Decision
			now := decision.ResetAt.Add(-decision.ResetAfter).UnixMilli() // by the store's clock
			after, verdict := ratelimittest.Step(h.Policy, state, now, call.Request.Cost())
			return !verdict.ClockUnsafe && verdict.Allowed == decision.Allowed && verdict.Remaining == decision.Remaining, after
		},
	}
}

// sometime is a moment at which a call that is in doubt can have been charged.
func sometime(state ratelimittest.State, call Call) int64 {
	if state.Seen {
		return state.LastObserved
	}
	return call.Start.UnixMilli()
}

// String lists the calls, in the order of their ends.
func (h History) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "policy %s, limit %d\n", h.Policy.ID(), h.Policy.Quota())
	for _, call := range h.Calls {
		start, end := call.Start.Sub(h.Calls[0].Start), call.End.Sub(h.Calls[0].Start)
		fmt.Fprintf(&text, "%12v to %12v: cost %d, ", start, end, call.Request.Cost())
		if evaluated, decided := call.Outcome.(ratelimit.Evaluated); decided {
			fmt.Fprintf(&text, "allowed %t, remaining %d\n", evaluated.Decision.Allowed, evaluated.Decision.Remaining)
			continue
		}
		fmt.Fprintf(&text, "%T\n", call.Outcome)
	}
	return text.String()
}

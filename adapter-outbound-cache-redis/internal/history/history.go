package history

import (
	"fmt"
	"strings"

	"example.com/weir/shared-contract/ratelimit"
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
func (h History) Doubtful() int64 {
	return h.sum(func(outcome ratelimit.Outcome) bool { return InDoubt(outcome) })
}

func (h History) sum(counts func(ratelimit.Outcome) bool) int64 {
	var sum int64
	for _, call := range h.Calls {
		if counts(call.Outcome) {
			sum += call.Request.Cost()
		}
	}
	return sum
}

// InDoubt reports whether an outcome, of one level or of several, leaves open if
// something was charged.
func InDoubt(outcome any) bool {
	switch outcome.(type) {
	case ratelimit.Evaluated, ratelimit.LayeredEvaluated:
		return false
	}
	return !IsFree(outcome)
}

// IsFree reports whether an outcome, of one level or of several, promises that
// nothing was charged although nothing was decided.
func IsFree(outcome any) bool {
	_, unavailable := outcome.(ratelimit.Unavailable)
	return unavailable
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
	var events []event
	for _, call := range h.Calls {
		if !IsFree(call.Outcome) {
			events = append(events, h.event(call))
		}
	}
	return explain(events, 1)
}

func (h History) event(call Call) event {
	e := event{
		start: call.Start, end: call.End,
		charges: []charge{{policy: h.Policy, cost: call.Request.Cost()}},
	}
	if evaluated, decided := call.Outcome.(ratelimit.Evaluated); decided {
		e.decide(evaluated.Decision)
	}
	return e
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

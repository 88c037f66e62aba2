package history

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// errShared: what else is charged to the level is in another history.
var errShared = errors.New("a level is shared by all roots")

// Call is one call of a port. One that asks for a subject by itself has the subject
// as root and only level.
type Call struct {
	Request    ratelimit.LayeredRequest
	Start, End time.Time
	Outcome    ratelimit.LayeredOutcome
}

// History is what was asked of one root, at several levels and by itself, and was
// answered. No level is shared.
type History struct {
	Policies *ratelimit.Snapshot
	Calls    []Call
}

// Counter is what a level is counted by, under one root.
type Counter struct {
	PolicyID string
	Subject  pseudonym.Digest
}

// CounterOf is what a level is counted by.
func CounterOf(level ratelimit.Level) Counter { return Counter{level.PolicyID, level.Subject} }

// Admitted is the sum of the costs of what was allowed, for each counter.
func (h History) Admitted() map[Counter]int64 {
	return h.sum(func(outcome ratelimit.LayeredOutcome) bool {
		evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
		return decided && evaluated.Decision.Allowed()
	})
}

// Doubtful is the sum of the costs of what may have been charged or not, for each
// counter.
func (h History) Doubtful() map[Counter]int64 {
	return h.sum(func(outcome ratelimit.LayeredOutcome) bool { return InDoubt(outcome) })
}

func (h History) sum(counts func(ratelimit.LayeredOutcome) bool) map[Counter]int64 {
	sums := make(map[Counter]int64)
	for _, call := range h.Calls {
		if !counts(call.Outcome) {
			continue
		}
		for _, level := range call.Request.Levels() {
			sums[CounterOf(level)] += level.Cost
		}
	}
	return sums
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

// Check returns [ErrImpossible] unless the counters, unknown at first, can have been
// charged for each admission once and for nothing else, each charge between start
// and end of its call, so that every decision is the model's. What a call charges it
// charges to all of its levels, in one moment, or to none. What is in doubt can have
// been charged at any time after its start, or not at all.
//
// When something in doubt was charged is not known, so the policies must be such
// that it makes no difference: their windows do not end, and they repay less than a
// unit, while the history lasts.
func (h History) Check() error {
	var events []event
	places := make(map[Counter]int)
	for _, call := range h.Calls {
		if IsFree(call.Outcome) {
			continue
		}
		e, err := h.event(call, places)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	return explain(events, len(places))
}

// Effective is the policy that a level is decided under.
func (h History) Effective(level ratelimit.Level) (ratelimit.Policy, error) {
	policy, known := h.Policies.PolicyFor(level.PolicyID, level.Subject)
	if !known {
		return ratelimit.Policy{}, fmt.Errorf("there is no policy %s", level.PolicyID)
	}
	return level.Effective(policy)
}

// event gives a counter that it has not met before the next place.
func (h History) event(call Call, places map[Counter]int) (event, error) {
	e := event{start: call.Start, end: call.End}
	for _, level := range call.Request.Levels() {
		if level.Shared {
			return event{}, errShared
		}
		policy, err := h.Effective(level)
		if err != nil {
			return event{}, fmt.Errorf("level %s: %w", level.Name, err)
		}
		of := CounterOf(level)
		if _, known := places[of]; !known {
			places[of] = len(places)
		}
		e.charges = append(e.charges, charge{counter: places[of], policy: policy, cost: level.Cost})
	}
	if evaluated, decided := call.Outcome.(ratelimit.LayeredEvaluated); decided {
		decisions := make([]ratelimit.Decision, len(e.charges))
		if len(evaluated.Decision.Levels) != len(decisions) {
			return event{}, ErrImpossible
		}
		for i, level := range evaluated.Decision.Levels {
			decisions[i] = level.Decision
		}
		e.decide(decisions...)
	}
	return e, nil
}

// String lists the calls, in the order of their ends.
func (h History) String() string {
	var text strings.Builder
	for _, call := range h.Calls {
		start, end := call.Start.Sub(h.Calls[0].Start), call.End.Sub(h.Calls[0].Start)
		fmt.Fprintf(&text, "%12v to %12v: ", start, end)
		for _, level := range call.Request.Levels() {
			fmt.Fprintf(&text, "%s %x cost %d, ", level.PolicyID, level.Subject[:4], level.Cost)
		}
		evaluated, decided := call.Outcome.(ratelimit.LayeredEvaluated)
		if !decided {
			fmt.Fprintf(&text, "%T\n", call.Outcome)
			continue
		}
		fmt.Fprintf(&text, "allowed %t, remaining", evaluated.Decision.Allowed())
		for _, level := range evaluated.Decision.Levels {
			fmt.Fprintf(&text, " %d", level.Remaining)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

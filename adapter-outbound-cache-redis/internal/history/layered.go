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

// LayeredCall is one call of a layered port.
type LayeredCall struct {
	Request    ratelimit.LayeredRequest
	Start, End time.Time
	Outcome    ratelimit.LayeredOutcome
}

// LayeredHistory is what was asked of one root and was answered. No level is
// shared, and nobody asks for the root by itself.
type LayeredHistory struct {
	Policies *ratelimit.Snapshot
	Calls    []LayeredCall
}

// Counter is what a level is counted by, under one root.
type Counter struct {
	PolicyID string
	Subject  pseudonym.Digest
}

// CounterOf is what a level is counted by.
func CounterOf(level ratelimit.Level) Counter { return Counter{level.PolicyID, level.Subject} }

// Admitted is the sum of the costs of what was allowed, for each counter.
func (h LayeredHistory) Admitted() map[Counter]int64 {
	return h.sum(func(outcome ratelimit.LayeredOutcome) bool {
		evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
		return decided && evaluated.Decision.Allowed()
	})
}

// Doubtful is the sum of the costs of what may have been charged or not, for each
// counter.
func (h LayeredHistory) Doubtful() map[Counter]int64 {
	return h.sum(func(outcome ratelimit.LayeredOutcome) bool { return InDoubt(outcome) })
}

func (h LayeredHistory) sum(counts func(ratelimit.LayeredOutcome) bool) map[Counter]int64 {
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

// Check is [History.Check] for all counters at once: what a call charges it charges
// to all of its levels, in one moment, or to none.
func (h LayeredHistory) Check() error {
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

// event gives a counter that it has not met before the next place.
func (h LayeredHistory) event(call LayeredCall, places map[Counter]int) (event, error) {
	e := event{start: call.Start, end: call.End}
	for _, level := range call.Request.Levels() {
		if level.Shared {
			return event{}, errShared
		}
		policy, known := h.Policies.PolicyFor(level.PolicyID, level.Subject)
		if !known {
			return event{}, fmt.Errorf("level %s: there is no policy %s", level.Name, level.PolicyID)
		}
		policy, err := level.Effective(policy)
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
func (h LayeredHistory) String() string {
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

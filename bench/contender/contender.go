// Package contender has everything that is compared: Weir in each of its forms,
// the limiters that a Go program would use otherwise, and, as a floor, the
// client library alone.
//
// All of them keep the same books as far as they can: 10,000 subjects, and
// limits so generous that nobody is denied. A bucket refills so slowly that its
// state outlives a measurement: to meet an absent state would be cheaper.
package contender

import (
	"context"
	"fmt"
	"time"

	"example.com/weir/bench/load"
	"example.com/weir/bench/store"
)

// Subjects is how many subjects there are.
const Subjects = 10_000

// What every limiter is configured with, in its own terms.
const (
	windowLimit = 1_000_000_000
	window      = time.Hour

	burst        = 5_000_000
	refillPeriod = time.Minute // one unit each
)

// Contender is one thing that is compared, not yet connected.
type Contender struct {
	// Name is what results call it.
	Name string
	// Command is what the server executes for each decision, by its lower-case
	// name.
	Command string
	// Trips says how often.
	Trips Trips
	// Levels is how many levels it decides at once; 0 if it knows no levels.
	Levels int
	// Keys is the pattern of its keys; empty if it has none.
	Keys string
	// Open connects to a server. The caller closes what it returns.
	Open func(ctx context.Context, address string) (Decider, error)
}

// Trips says how many commands belong to a decision.
type Trips int

// All kinds of trips.
const (
	// OneTrip is one command, never more and never less.
	OneTrip Trips = iota + 1
	// SomeTrips is at least one.
	SomeTrips
)

// Decider is a connected contender.
type Decider interface {
	// Decide asks whether a subject, 0 to [Subjects]-1, may do something once
	// more. It is safe for concurrent use.
	Decide(ctx context.Context, subject int) (admitted bool, err error)
	Close() error
}

// minAdmitted is the least share of decisions that must be admissions: a denial
// is cheaper.
const minAdmitted = 0.99

// Check tells why sample is worth nothing, given what the server used
// meanwhile; nil if it can be believed.
func (c Contender) Check(sample load.Sample, used store.Usage) error {
	calls := used.Calls[c.Command]
	switch {
	case sample.Errors > 0:
		return fmt.Errorf("%s: %d errors, such as %w", c.Name, sample.Errors, sample.Err)
	case sample.Decisions == 0:
		return fmt.Errorf("%s: decided nothing", c.Name)
	case float64(sample.Admitted) < minAdmitted*float64(sample.Decisions):
		return fmt.Errorf("%s: admitted only %d of %d", c.Name, sample.Admitted, sample.Decisions)
	case c.Trips == OneTrip && calls != sample.Decisions:
		return fmt.Errorf("%s: decided %d times, and the server saw %d %s", c.Name, sample.Decisions, calls, c.Command)
	case calls < sample.Decisions:
		return fmt.Errorf("%s: decided %d times, and the server saw only %d %s", c.Name, sample.Decisions, calls, c.Command)
	}
	return nil
}

// All lists the contenders that decide about one subject, in the order of the
// results.
func All() []Contender {
	return append(append(floors(), weirs()...), peers()...)
}

// subjectNames are the subjects as peers put them into keys.
func subjectNames() []string {
	names := make([]string, Subjects)
	for i := range names {
		names[i] = subjectName(i)
	}
	return names
}

func subjectName(subject int) string { return fmt.Sprintf("tenant-%08d", subject) }

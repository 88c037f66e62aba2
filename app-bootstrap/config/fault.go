package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	// Key is the full key, such as app.rate-limit.redis.pool-size or
	// app.web.routes[0].pattern, or the flag --config or --set.
	Key string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Error joins key and problem.
func (f Fault) Error() string { return f.Key + ": " + f.Problem }

// Faults are all the faults of one configuration, ordered by key. An empty
// Faults is not an error and is never returned as one.
type Faults []Fault

// Error has one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Warning is something that has no effect, or another effect than its author
// may expect, and does not stop the start.
type Warning struct {
	Key  string
	Note string
}

// collector gathers faults in the order in which they are found.
type collector struct {
	faults []Fault
	// outOfRange holds the keys whose number no integer can hold. The largest or
	// smallest integer stands in for it, so that the check of the key itself
	// refuses it and names its bounds.
	outOfRange map[string]typeProblem
}

func (c *collector) add(key, format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if _, standsIn := c.outOfRange[key]; standsIn {
		problem = standInNumber.ReplaceAllString(problem, "")
		delete(c.outOfRange, key)
	}
	c.faults = append(c.faults, Fault{Key: key, Problem: problem})
}

// standInNumber opens what a check says about a number that nobody wrote.
var standInNumber = regexp.MustCompile(`^is -?\d{19}, `)

func (c *collector) addOutOfRange(key string, problem typeProblem) {
	if c.outOfRange == nil {
		c.outOfRange = make(map[string]typeProblem)
	}
	c.outOfRange[key] = problem
}

// addUnlessReported adds a fault that would only repeat, in other words, what a
// fault of key or of a section around it says already: a value that could not
// be read is not missing too.
func (c *collector) addUnlessReported(key, format string, args ...any) {
	if !c.reported(key) {
		c.add(key, format, args...)
	}
}

// reported tells of a fault of key or of a section or list that holds it.
func (c *collector) reported(key string) bool {
	return slices.ContainsFunc(c.faults, func(fault Fault) bool {
		rest, within := strings.CutPrefix(key, fault.Key)
		return within && (rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
}

func (c *collector) addUnlessOneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.add(key, "must be %s", alternatives(allowed))
	}
}

func addUnlessBetween[T cmp.Ordered](c *collector, key string, value, least, most T) {
	if value < least || value > most {
		c.add(key, "is %v, must be %v to %v", value, least, most)
	}
}

// sorted is the collected faults by key, each once, or nil. A number out of
// range that no check has seen, because it has no effect, is a fault too.
func (c *collector) sorted() error {
	for key, problem := range c.outOfRange {
		c.faults = append(c.faults, Fault{Key: key, Problem: string(problem)})
	}
	if len(c.faults) == 0 {
		return nil
	}
	slices.SortFunc(c.faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Problem, b.Problem))
	})
	return Faults(slices.Compact(c.faults))
}

func alternatives(words []string) string {
	switch last := len(words) - 1; {
	case last < 1:
		return strings.Join(words, "")
	default:
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
}

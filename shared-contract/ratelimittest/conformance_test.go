package ratelimittest

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that the implementation in memory keeps every promise of the port.
func TestMemoryConforms(t *testing.T) {
	Run(t, func(_ testing.TB, catalog *ratelimit.Catalog) Harness {
		return newMemoryHarness(catalog, flaw{})
	})
}

// Ensure that it keeps those of the layered port too.
func TestMemoryConformsLayered(t *testing.T) {
	RunLayered(t, func(_ testing.TB, catalog *ratelimit.Catalog) LayeredHarness {
		return newMemoryHarness(catalog, flaw{})
	})
}

// suite is what Run or RunLayered checks, and who must be rejected.
type suite struct {
	name     string
	clauses  []clause
	broken   []broken
	newStage func(examiner, *memoryHarness, *ratelimit.Catalog) *stage
}

func suites() []suite {
	return []suite{
		{"Run", clauses(), brokenImplementations(), func(e examiner, h *memoryHarness, c *ratelimit.Catalog) *stage {
			return newStage(e, h, c)
		}},
		{"RunLayered", layeredClauses(), brokenLayeredImplementations(), func(e examiner, h *memoryHarness, c *ratelimit.Catalog) *stage {
			return newLayeredStage(e, h, c)
		}},
	}
}

// Ensure that an implementation which breaks one promise is rejected by the
// clause of that promise, and by no other.
func TestBrokenImplementationsAreRejected(t *testing.T) {
	for _, suite := range suites() {
		for _, broken := range suite.broken {
			t.Run(suite.name+"/"+broken.clause+"/"+broken.name, func(t *testing.T) {
				for _, clause := range suite.clauses {
					complaint := suite.examine(t, clause, broken.flaw)
					switch {
					case clause.name == broken.clause && complaint == "":
						t.Errorf("%q accepts it", clause.name)
					case clause.name == broken.clause:
						t.Log(complaint)
					case complaint != "":
						t.Errorf("%q rejects it too: %s", clause.name, complaint)
					}
				}
			})
		}
	}
}

// Ensure that every clause is one that an implementation can break, and that
// names are unique.
func TestEveryClauseRejectsSomething(t *testing.T) {
	for _, suite := range suites() {
		t.Run(suite.name, suite.wantEveryClauseToReject)
	}
}

func (s suite) wantEveryClauseToReject(t *testing.T) {
	var names, rejecting []string
	for _, clause := range s.clauses {
		names = append(names, clause.name)
	}
	for _, broken := range s.broken {
		rejecting = append(rejecting, broken.clause)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(distinct) != len(names) {
		t.Errorf("clauses share a name: %q", names)
	}
	for _, name := range names {
		if !slices.Contains(rejecting, name) {
			t.Errorf("no broken implementation for %q", name)
		}
	}
	for _, name := range rejecting {
		if !slices.Contains(names, name) {
			t.Errorf("a broken implementation for %q, which is no clause", name)
		}
	}
}

// examine plays one clause in time that costs nothing, and returns the complaint.
func (s suite) examine(t *testing.T, clause clause, flaw flaw) (complaint string) {
	synctest.Test(t, func(*testing.T) {
		var notes notebook
		done := make(chan struct{})
		go func() {
			defer close(done)
			catalog := newCatalog()
			clause.check(s.newStage(&notes, newMemoryHarness(catalog, flaw), catalog))
		}()
		<-done
		complaint = notes.complaint
	})
	return complaint
}

// notebook is an examiner that writes down what a test would fail with.
type notebook struct{ complaint string }

func (*notebook) Helper() {}

func (n *notebook) Fatalf(format string, args ...any) {
	n.complaint = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

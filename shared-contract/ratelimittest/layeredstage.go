package ratelimittest

import (
	"context"
	"fmt"
	"slices"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// hierarchy is a root and levels under it.
type hierarchy struct {
	root   pseudonym.Digest
	levels []ratelimit.Level
}

// newHierarchy has a level for each policy, of one unit for a subject that nobody
// has seen. The last level is the root's own.
func (s *stage) newHierarchy(policies ...ratelimit.Policy) hierarchy {
	var h hierarchy
	for i, policy := range policies {
		h.root = s.newSubject()
		h.levels = append(h.levels, ratelimit.Level{
			Name: fmt.Sprintf("level-%d", i+1), PolicyID: policy.ID(), Subject: h.root, Cost: 1,
		})
	}
	return h
}

// pair is the hierarchy of clauses to which algorithms are all the same.
func (s *stage) pair() hierarchy { return s.newHierarchy(fixedWindow(), twin()) }

// another is h with a root and subjects that nobody has seen.
func (s *stage) another(h hierarchy) hierarchy {
	fresh := map[pseudonym.Digest]pseudonym.Digest{h.root: s.newSubject()}
	next := hierarchy{fresh[h.root], slices.Clone(h.levels)}
	for i, level := range next.levels {
		if _, known := fresh[level.Subject]; !known {
			fresh[level.Subject] = s.newSubject()
		}
		next.levels[i].Subject = fresh[level.Subject]
	}
	return next
}

// at is h with one level only, and one unit of it.
func (h hierarchy) at(i int) hierarchy {
	level := h.levels[i]
	level.Cost = 1
	return hierarchy{h.root, []ratelimit.Level{level}}
}

// with is h with one level changed.
func (h hierarchy) with(i int, edit func(*ratelimit.Level)) hierarchy {
	h.levels = slices.Clone(h.levels)
	edit(&h.levels[i])
	return h
}

// policyOf is the level's policy in the catalog.
func (s *stage) policyOf(level ratelimit.Level) ratelimit.Policy {
	policy, _ := s.catalog.Current().Policy(level.PolicyID)
	return policy
}

func (s *stage) layeredRequest(h hierarchy) ratelimit.LayeredRequest {
	s.Helper()
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: h.root, Levels: h.levels})
	if err != nil {
		s.Fatalf("the suite made an invalid request: %v", err)
	}
	return request
}

func (s *stage) callLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	s.Helper()
	return patiently(s, func() ratelimit.LayeredOutcome { return s.layers.EvaluateLayers(ctx, request) })
}

// evaluateLayers is callLayers with a deadline. As for evaluate, a pointer to an
// outcome passes for the outcome.
func (s *stage) evaluateLayers(h hierarchy) ratelimit.LayeredOutcome {
	s.Helper()
	ctx, cancel := withDeadline()
	defer cancel()
	return pointedAt(s.callLayers(ctx, s.layeredRequest(h)))
}

// decideLayers is evaluateLayers for what must come to a decision.
func (s *stage) decideLayers(h hierarchy) ratelimit.LayeredDecision {
	s.Helper()
	outcome := s.evaluateLayers(h)
	evaluated, ok := outcome.(ratelimit.LayeredEvaluated)
	if !ok {
		s.Fatalf("%v: the outcome is %s, must be a decision", h, describe(outcome))
	}
	return evaluated.Decision
}

// decideAt is what the level says when it is asked alone.
func (s *stage) decideAt(h hierarchy, i int) ratelimit.Decision {
	s.Helper()
	return s.levelOf(s.decideLayers(h.at(i)), h.levels[i].Name)
}

// levelOf finds a level by its name: that levels are in order is for one clause to
// say.
func (s *stage) levelOf(decision ratelimit.LayeredDecision, name string) ratelimit.Decision {
	s.Helper()
	for _, level := range decision.Levels {
		if level.Level == name {
			return level.Decision
		}
	}
	s.Fatalf("a decision has no level %q", name)
	return ratelimit.Decision{}
}

// spendAt asks a level alone for units, each of which must be admitted.
func (s *stage) spendAt(h hierarchy, i, units int) {
	s.Helper()
	for range units {
		if !s.decideAt(h, i).Allowed {
			s.Fatalf("policy %s: a unit is denied where %d must be left", h.levels[i].PolicyID, units)
		}
	}
}

// leftAt is how many units a level has left. They are spent then.
func (s *stage) leftAt(h hierarchy, i int) int {
	s.Helper()
	for admitted := range manyAttempts {
		if !s.decideAt(h, i).Allowed {
			return admitted
		}
	}
	return manyAttempts
}

// leftAtAll is how many units each level has left. They are spent then.
func (s *stage) leftAtAll(h hierarchy) []int {
	s.Helper()
	left := make([]int, len(h.levels))
	for i := range h.levels {
		left[i] = s.leftAt(h, i)
	}
	return left
}

func (s *stage) wantLeftAt(h hierarchy, i, want int, when string) {
	s.Helper()
	if got := s.leftAt(h, i); got != want {
		s.Fatalf("policy %s: %d units are left %s, must be %d", h.levels[i].PolicyID, got, when, want)
	}
}

// wantAlike compares what is left at each level of two hierarchies.
func (s *stage) wantAlike(h, like hierarchy, when string) {
	s.Helper()
	if got, want := s.leftAtAll(h), s.leftAtAll(like); !slices.Equal(got, want) {
		s.Fatalf("%v: %d units are left %s, must be %d", h, got, when, want)
	}
}

// wantUntouched looks for charges at any level.
func (s *stage) wantUntouched(h hierarchy, when string) {
	s.Helper()
	s.wantAlike(h, s.another(h), when)
}

// String names the policies.
func (h hierarchy) String() string {
	policies := make([]string, len(h.levels))
	for i, level := range h.levels {
		policies[i] = level.PolicyID
	}
	return fmt.Sprintf("policies %v", policies)
}

package ratelimittest

import (
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

func layeredDecisionsAreCoherent(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	first := s.decideLayers(h)
	s.wantCoherentLayers(h, first)
	s.harness.Pass(10 * time.Millisecond)
	second := s.decideLayers(h)
	s.wantCoherentLayers(h, second)
	if passed := layeredMoment(second).Sub(layeredMoment(first)); passed < 10*time.Millisecond {
		s.Fatalf("%v: reset-at and reset-after say that %v passed, must be 10ms at the least", h, passed)
	}
	for i, level := range h.levels {
		if remaining := first.Levels[i].Remaining; remaining != quota-1 {
			s.Fatalf("policy %s: %d remain after one unit, must be %d", level.PolicyID, remaining, quota-1)
		}
	}
	for i := range h.levels {
		s.leftAt(h, i)
		s.wantCoherentLayers(h, s.decideLayers(h))
	}
}

func (s *stage) wantCoherentLayers(h hierarchy, decision ratelimit.LayeredDecision) {
	s.Helper()
	if len(decision.Levels) != len(h.levels) {
		s.Fatalf("%v: a decision is of %d levels, must be of %d", h, len(decision.Levels), len(h.levels))
	}
	for i, level := range decision.Levels {
		if level.Level != h.levels[i].Name {
			s.Fatalf("%v: level %d of a decision is %q, must be %q", h, i+1, level.Level, h.levels[i].Name)
		}
		s.wantCoherent(s.policyOf(h.levels[i]), level.Decision)
		if late := moment(level.Decision).Sub(layeredMoment(decision)); late != 0 {
			s.Fatalf("policy %s: decided %v after the first level, must be at the same moment", h.levels[i].PolicyID, late)
		}
	}
}

// layeredMoment is when the store decided.
func layeredMoment(decision ratelimit.LayeredDecision) time.Time {
	return moment(decision.Levels[0].Decision)
}

func layeredRetryAfterKeepsItsWord(s *stage) {
	h := s.newHierarchy(brief()...)
	denial := s.exhaustLayers(h)
	promised := make(map[string]time.Time)
	for _, level := range denial.Levels {
		promised[level.Level] = moment(level.Decision).Add(level.RetryAfter)
	}
	for waits := 0; !denial.Allowed(); waits++ {
		if denial.RetryAfter() <= 0 || waits == manyWaits {
			s.Fatalf("%v: retry-after of a denial is %v after %d waits", h, denial.RetryAfter(), waits)
		}
		s.harness.Pass(max(time.Millisecond, (denial.RetryAfter() / 2).Truncate(time.Millisecond)))
		denial = s.decideLayers(h)
		for _, level := range denial.Levels {
			early := promised[level.Level].Sub(moment(level.Decision))
			if level.Allowed && early > 0 {
				s.Fatalf("policy %s: admitted %v before the wait is over", level.Policy.ID(), early)
			}
			if !level.Allowed && early <= 0 {
				s.Fatalf("policy %s: denied %v after the wait is over", level.Policy.ID(), -early)
			}
		}
	}
}

// exhaustLayers spends a unit of each level until the first denial, which it
// returns.
func (s *stage) exhaustLayers(h hierarchy) ratelimit.LayeredDecision {
	s.Helper()
	for range manyAttempts {
		if decision := s.decideLayers(h); !decision.Allowed() {
			return decision
		}
	}
	s.Fatalf("%v: none of %d requests was denied", h, manyAttempts)
	return ratelimit.LayeredDecision{}
}

func layeredResetAfterKeepsItsWord(s *stage) {
	h := s.newHierarchy(brief()...)
	first := s.decideLayers(h)
	var longest time.Duration
	for _, level := range first.Levels {
		longest = max(longest, level.ResetAfter)
	}
	s.harness.Pass(longest)
	again := s.decideLayers(h)
	for _, level := range h.levels {
		if before, after := s.levelOf(first, level.Name), s.levelOf(again, level.Name); before.Remaining != after.Remaining {
			s.Fatalf("policy %s: %d remain after the reset, and %d the first time", level.PolicyID, after.Remaining, before.Remaining)
		}
	}
}

package ratelimittest

import (
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// limited gives a level a limit below its policy's.
func limited(level *ratelimit.Level) { level.Limit = lowered }

func aLevelsLimitHolds(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	for i, policy := range lasting(quota) {
		whole := s.leftAt(h, i)
		usual := s.decideAt(s.another(h), i)
		low := s.another(h).with(i, limited)
		s.wantNames(policy, usual, lowered, s.decideAt(low, i))
		s.wantLeftAt(low, i, whole-quota+lowered-1, "under the level's limit")
	}
}

func aLimitKeepsWhatWasSpent(s *stage) {
	for i, policy := range lasting(quota) {
		for _, spent := range []int{1, quota - 1} {
			s.wantKeptAt(i, spent, "under the level's limit", func(h hierarchy) hierarchy { return h.with(i, limited) })
			for _, changed := range []int64{raised, lowered} {
				s.wantKeptAt(i, spent, "after the edit", func(h hierarchy) hierarchy {
					s.enforce(lasting(changed)[i])
					return h
				})
				s.wantKeptAt(i, spent, "after the override", func(h hierarchy) hierarchy {
					s.override(policy, changed, h.levels[i].Subject)
					return h
				})
			}
		}
	}
}

// wantKeptAt changes what a level may spend, of which some was spent.
func (s *stage) wantKeptAt(i, spent int, when string, change func(hierarchy) hierarchy) {
	s.Helper()
	s.enforce(lasting(quota)...)
	h := s.newHierarchy(lasting(quota)...)
	whole := s.leftAt(change(s.another(h)), i)
	s.enforce(lasting(quota)...)
	s.spendAt(h, i, spent)
	h = change(h)
	s.wantLeftAt(h, i, max(0, whole-spent), when)
	if denial := s.decideAt(h, i); denial.Remaining < 0 {
		s.Fatalf("policy %s: %d remain %s, must not be negative", h.levels[i].PolicyID, denial.Remaining, when)
	}
}

func overridesHoldAtLevels(s *stage) {
	for i, policy := range lasting(quota) {
		whole := s.leftAt(s.newHierarchy(lasting(quota)...), i)
		usual := s.decideAt(s.newHierarchy(lasting(quota)...), i)
		for _, units := range []int64{raised, lowered} {
			h := s.newHierarchy(lasting(quota)...)
			s.override(policy, units, h.levels[i].Subject)
			above := h.with(i, func(level *ratelimit.Level) { level.Limit = units + 1 })
			s.wantUnavailable(s.evaluateLayers(above), failure.InvalidRequest)
			s.wantLeftAt(h, i, whole+int(units)-quota, "to a subject with an override")
			s.wantLeftAt(s.another(h), i, whole, "to a subject without an override")
			equal := h.with(i, func(level *ratelimit.Level) { level.Limit = units })
			s.wantNames(policy, usual, units, s.decideAt(equal, i))
		}
	}
}

func policiesOfLevelsAreThoseOfTheMoment(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	for i := range h.levels {
		whole := s.leftAt(s.another(h), i)
		for _, changed := range []int64{raised, lowered} {
			s.enforce(lasting(changed)[i])
			s.wantLeftAt(s.another(h), i, whole+int(changed)-quota, "after the edit")
		}
	}
	added := newPolicy("added", 1, fixedWindow().Parameters())
	s.enforce(added)
	s.decideLayers(s.newHierarchy(added))
	s.catalog.Replace(newSnapshot(added))
	removed := describe(s.evaluateLayers(s.newHierarchy(added, fixedWindow())))
	if never := describe(s.evaluateLayers(s.newHierarchy(added, unknown()))); removed != never {
		s.Fatalf("a removed policy is answered with %s, and one that never was with %s", removed, never)
	}
}

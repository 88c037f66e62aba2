package ratelimittest

import (
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func levelsAreSeparate(s *stage) {
	h := s.pair()
	whole := s.leftAt(h, 0)
	atFirst, atLast := alike(h.levels[0].Subject)
	for _, subject := range []pseudonym.Digest{atFirst, atLast} {
		other := h.with(0, func(level *ratelimit.Level) { level.Subject = subject })
		s.wantLeftAt(other, 0, whole, "to another subject under the same root")
	}
	other := h.with(0, func(level *ratelimit.Level) { level.PolicyID = twin().ID() })
	s.wantLeftAt(other, 0, s.leftAt(s.another(other), 0), "under another policy")
}

func rootsAreSeparate(s *stage) {
	h := s.pair()
	whole := s.leftAt(h, 0)
	atFirst, atLast := alike(h.root)
	for _, root := range []pseudonym.Digest{atFirst, atLast} {
		s.wantLeftAt(hierarchy{root, h.levels}, 0, whole, "under another root")
	}
}

func aSharedLevelIsOneCounter(s *stage) {
	for _, policy := range lasting(quota) {
		h := s.newHierarchy(policy, twin()).with(0, share)
		subject := h.levels[0].Subject
		whole := s.leftAt(s.another(h), 0)
		s.spendAt(h, 0, 1)
		s.spendAt(hierarchy{s.newSubject(), h.levels}, 0, 1)
		s.decide(policy, subject, 1)
		s.wantLeftAt(hierarchy{s.newSubject(), h.levels}, 0, whole-3, "to a shared level under a third root")
		s.wantLeft(policy, subject, 0, "to the subject by itself, once the shared level is exhausted")
	}
}

func share(level *ratelimit.Level) { level.Shared = true }

func theRootsLevelIsTheRootsCounter(s *stage) {
	for _, policy := range lasting(quota) {
		h := s.newHierarchy(policy)
		whole := s.leftAt(s.another(h), 0)
		s.spendAt(h, 0, 1)
		s.decide(policy, h.root, 1)
		s.wantLeftAt(h, 0, whole-2, "to the root's own level")
		s.wantLeft(policy, h.root, 0, "to the root by itself, once its level is exhausted")
	}
}

func otherLevelsAreApart(s *stage) {
	for _, policy := range lasting(quota) {
		h := s.newHierarchy(policy, twin())
		whole := s.leftAt(h, 0)
		s.wantLeft(policy, h.levels[0].Subject, s.whole(policy), "to the subject by itself, once its level is exhausted")

		h = s.another(h)
		s.exhaust(policy, h.levels[0].Subject)
		s.wantLeftAt(h, 0, whole, "to a level, once its subject by itself has spent all")
	}
}

func aNewRevisionOfALevelStartsEmpty(s *stage) {
	first := fixedWindow()
	for _, second := range []ratelimit.Policy{
		newPolicy(first.ID(), 2, first.Parameters()),
		newPolicy(first.ID(), 3, ratelimit.SlidingLog{Limit: quota, Window: long}),
	} {
		s.enforce(first)
		h := s.newHierarchy(first, twin())
		s.leftAt(h, 0)
		s.enforce(second)
		if s.decideAt(s.another(h), 0).Policy != second {
			return // the edit is not seen, which another clause minds
		}
		s.wantLeftAt(h, 0, s.leftAt(s.another(h), 0), "under a new revision")
	}
}

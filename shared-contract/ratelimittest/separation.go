package ratelimittest

import (
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func subjectsAreSeparate(s *stage) {
	policy := fixedWindow()
	subject := s.newSubject()
	whole := s.left(policy, subject)
	atFirst, atLast := alike(subject)
	s.wantLeft(policy, atLast, whole, "to a subject that differs in the last byte")
	s.wantLeft(policy, atFirst, whole, "to a subject that differs in the first byte")
}

// alike are digests that differ from one in its first and in its last byte.
func alike(digest pseudonym.Digest) (atFirst, atLast pseudonym.Digest) {
	atFirst, atLast = digest, digest
	atFirst[0]++
	atLast[len(digest)-1]++
	return atFirst, atLast
}

func policiesAreSeparate(s *stage) {
	subject := s.newSubject()
	s.exhaust(fixedWindow(), subject)
	s.wantLeft(twin(), subject, s.whole(twin()), "under another policy")
}

func aNewRevisionStartsEmpty(s *stage) {
	first := fixedWindow()
	for _, second := range []ratelimit.Policy{
		newPolicy(first.ID(), 2, first.Parameters()),
		newPolicy(first.ID(), 3, ratelimit.TokenBucket{Capacity: quota, RefillTokens: 1, RefillInterval: long}),
	} {
		subject := s.newSubject()
		s.exhaust(first, subject)
		s.enforce(second)
		if s.decide(second, s.newSubject(), 1).Policy != second {
			return // the edit is not seen, which another clause minds
		}
		s.wantLeft(second, subject, s.whole(second), "under a new revision")
	}
}

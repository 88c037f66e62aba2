package ratelimittest

import "example.com/weir/shared-contract/ratelimit"

func subjectsAreSeparate(s *stage) {
	policy := fixedWindow()
	subject := s.newSubject()
	likeAtFirst, likeAtLast := subject, subject
	likeAtFirst[len(subject)-1]++
	likeAtLast[0]++

	whole := s.left(policy, subject)
	s.wantLeft(policy, likeAtFirst, whole, "to a subject that differs in the last byte")
	s.wantLeft(policy, likeAtLast, whole, "to a subject that differs in the first byte")
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

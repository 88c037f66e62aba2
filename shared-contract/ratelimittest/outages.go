package ratelimittest

import (
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func anUnreachableStoreChargesNothing(s *stage) {
	policy, subject := fixedWindow(), s.newSubject()
	s.disconnect()
	for range 2 {
		s.wantUnavailable(s.evaluate(s.request(policy, subject, 1)), failure.Connection)
	}
	s.mend()
	s.wantLeft(policy, subject, s.whole(policy), "after the store could not be reached")
}

func aLostReplyLeavesDoubt(s *stage) {
	s.loseReplies()
	s.wantNoReply(s.evaluate(s.request(fixedWindow(), s.newSubject(), 1)))
}

func (s *stage) wantNoReply(outcome any) {
	s.Helper()
	if indeterminate, ok := outcome.(ratelimit.Indeterminate); !ok || indeterminate.Category != failure.NoReply {
		s.Fatalf("the outcome is %s, must be Indeterminate(%s)", describe(outcome), failure.NoReply)
	}
}

func chargesAtMostOnce(s *stage) {
	policy, subject := fixedWindow(), s.newSubject()
	s.loseReplies()
	s.evaluate(s.request(policy, subject, 1))
	s.mend()
	whole := s.whole(policy)
	left := s.left(policy, subject)
	if left == whole {
		s.Fatalf("policy %s: the call with the lost reply did not reach the store, which the harness promises", policy.ID())
	}
	if left != whole-1 {
		s.Fatalf("policy %s: %d units are left after a lost reply, must be %d", policy.ID(), left, whole-1)
	}
}

func answersByTheDeadline(s *stage) {
	s.disconnect()
	s.wantPunctual("an unreachable store")
	s.mend()
	s.loseReplies()
	s.wantPunctual("a silent store")
}

// aFew calls are made at one time.
const aFew = 4

func (s *stage) wantPunctual(situation string) {
	s.Helper()
	request := s.request(fixedWindow(), s.newSubject(), 1)
	wantPunctual(s, situation, s.callAtOnce([]ratelimit.EdgePort{s.port}, aFew, request))
}

func wantPunctual[O any](s *stage, situation string, answers []answer[O]) {
	s.Helper()
	for _, answer := range answers {
		if answer.took > Deadline+lateness {
			s.Fatalf("%s: the answer came after %v, the deadline is %v", situation, answer.took, Deadline)
		}
	}
}

// manyFailures is more than what a port may take for bad luck.
const manyFailures = 20

func decidesAgain(s *stage) {
	request := s.request(fixedWindow(), s.newSubject(), 1)
	s.disconnect()
	for range manyFailures {
		s.evaluate(request)
	}
	s.mend()
	s.loseReplies()
	s.callAtOnce([]ratelimit.EdgePort{s.port}, manyFailures, request)
	s.mend()
}

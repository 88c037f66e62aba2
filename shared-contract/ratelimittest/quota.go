package ratelimittest

import "example.com/weir/shared-contract/ratelimit"

func admitsExactlyTheQuota(s *stage) {
	for _, policy := range lasting(quota) {
		subject := s.newSubject()
		s.wantLeft(policy, subject, quota, "to a new subject")
		s.wantLeft(policy, subject, 0, "once it is spent")
	}
}

func chargesTheCost(s *stage) {
	for _, policy := range lasting(quota) {
		subject := s.newSubject()
		if !s.decide(policy, subject, maxCost).Allowed {
			s.Fatalf("policy %s: a request of cost %d is denied to a new subject", policy.ID(), maxCost)
		}
		s.wantLeft(policy, subject, s.whole(policy)-maxCost, "after a request of the greatest cost")
	}
}

func aDenialChargesNothing(s *stage) {
	for _, policy := range lasting(quota) {
		denied, undenied := s.newSubject(), s.newSubject()
		for range s.spend(policy, denied, maxCost) {
			s.decide(policy, undenied, maxCost)
		}
		for range 3 {
			s.decide(policy, denied, maxCost)
		}
		s.wantLeft(policy, denied, s.left(policy, undenied), "after denials")
	}
}

// callers is how many calls are made at one time.
const callers = 64

func parallelCallsShareTheQuota(s *stage) {
	ports := []ratelimit.EdgePort{s.port, s.harness.NewPort()}
	for _, policy := range lasting(quota) {
		admitted := 0
		for _, answer := range s.callAtOnce(ports, callers, s.request(policy, s.newSubject(), 1)) {
			evaluated, decided := answer.outcome.(ratelimit.Evaluated)
			if !decided {
				s.Fatalf("policy %s: an outcome is %s, must be a decision", policy.ID(), describe(answer.outcome))
			}
			if evaluated.Decision.Allowed {
				admitted++
			}
		}
		if whole := s.whole(policy); admitted != whole {
			s.Fatalf("policy %s: %d calls are admitted at one time, %d in a row", policy.ID(), admitted, whole)
		}
	}
}

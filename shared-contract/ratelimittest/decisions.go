package ratelimittest

import (
	"context"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

func answersWithValues(s *stage) {
	policy, subject := fixedWindow(), s.newSubject()
	s.wantValue("an admission", s.request(policy, subject, 1))
	s.exhaust(policy, subject)
	s.wantValue("a denial", s.request(policy, subject, 1))
	s.wantValue("the zero request", ratelimit.Request{})
	s.wantValue("an unknown policy", s.request(unknown(), subject, 1))
	s.disconnect()
	s.wantValue("an unreachable store", s.request(policy, subject, 1))
	s.mend()
	s.loseReplies()
	s.wantValue("a lost reply", s.request(policy, subject, 1))
	s.mend()
	s.loseReplies()
	ctx, cancel := withDeadline()
	time.AfterFunc(pollInterval, cancel)
	s.wantValueOf(ctx, "a call cancelled on its way", s.request(policy, subject, 1))
}

func (s *stage) wantValue(situation string, request ratelimit.Request) {
	s.Helper()
	ctx, cancel := withDeadline()
	defer cancel()
	s.wantValueOf(ctx, situation, request)
}

func (s *stage) wantValueOf(ctx context.Context, situation string, request ratelimit.Request) {
	s.Helper()
	switch outcome := s.call(ctx, request).(type) {
	case ratelimit.Evaluated, ratelimit.Unavailable, ratelimit.Indeterminate, ratelimit.Incompatible:
	default:
		s.Fatalf("%s is answered with %T, must be one of the values of package ratelimit", situation, outcome)
	}
}

func decisionsAreCoherent(s *stage) {
	for _, policy := range lasting(quota) {
		subject := s.newSubject()
		first := s.decide(policy, subject, 1)
		s.wantCoherent(policy, first)
		s.harness.Pass(10 * time.Millisecond)
		second := s.decide(policy, subject, 1)
		s.wantCoherent(policy, second)
		if first.Remaining != quota-1 || second.Remaining != quota-2 {
			s.Fatalf("policy %s: %d and %d remain after one and two units, must be %d and %d",
				policy.ID(), first.Remaining, second.Remaining, quota-1, quota-2)
		}
		if passed := moment(second).Sub(moment(first)); passed < 10*time.Millisecond {
			s.Fatalf("policy %s: reset-at and reset-after say that %v passed, must be 10ms at the least", policy.ID(), passed)
		}
		s.wantCoherent(policy, s.exhaust(policy, subject))
	}
}

func (s *stage) wantCoherent(policy ratelimit.Policy, decision ratelimit.Decision) {
	s.Helper()
	want := func(kept bool, rule string) {
		s.Helper()
		if !kept {
			s.Fatalf("policy %s: %s: %+v", policy.ID(), rule, decision)
		}
	}
	want(decision.Policy == policy, "policy must be the catalog's")
	want(decision.Limit == policy.Quota(), "limit must be the policy's quota")
	want(decision.Certainty == policy.Parameters().Certainty(), "certainty must be the algorithm's")
	want(decision.Source != "", "source must be given")
	want(decision.Remaining >= 0 && decision.Remaining <= decision.Limit, "remaining must be 0 to limit")
	want(decision.ResetAfter >= 0, "reset-after must not be negative")
	want(decision.ResetAt.Location() == time.UTC, "reset-at must be in UTC")
	if decision.Allowed {
		want(decision.RetryAfter == 0, "an admission must name no wait")
		return
	}
	want(decision.Remaining == 0, "a unit must not be denied while one remains")
	want(decision.RetryAfter <= decision.ResetAfter, "with the whole quota there must be nothing to wait for")
}

// manyWaits is more than it takes to halve a wait down to a millisecond.
const manyWaits = 50

func retryAfterKeepsItsWord(s *stage) {
	for _, policy := range brief() {
		subject := s.newSubject()
		denial := s.exhaust(policy, subject)
		promised := moment(denial).Add(denial.RetryAfter)
		for waits := 0; ; waits++ {
			if denial.RetryAfter <= 0 || waits == manyWaits {
				s.Fatalf("policy %s: retry-after of a denial is %v after %d waits", policy.ID(), denial.RetryAfter, waits)
			}
			s.harness.Pass(max(time.Millisecond, (denial.RetryAfter / 2).Truncate(time.Millisecond)))
			decision := s.decide(policy, subject, 1)
			early := promised.Sub(moment(decision))
			if decision.Allowed && early > 0 {
				s.Fatalf("policy %s: admitted %v before the wait is over", policy.ID(), early)
			}
			if decision.Allowed {
				break
			}
			if early <= 0 {
				s.Fatalf("policy %s: denied %v after the wait is over", policy.ID(), -early)
			}
			denial = decision
		}
	}
}

func resetAfterKeepsItsWord(s *stage) {
	for _, policy := range brief() {
		subject := s.newSubject()
		first := s.decide(policy, subject, 1)
		s.harness.Pass(max(0, first.ResetAfter))
		if again := s.decide(policy, subject, 1); again.Remaining != first.Remaining {
			s.Fatalf("policy %s: %d remain after the reset, and %d the first time", policy.ID(), again.Remaining, first.Remaining)
		}
	}
}

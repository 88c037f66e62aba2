package ratelimittest

import "example.com/weir/shared-contract/ratelimit"

const (
	raised  = quota + 3
	lowered = quota - 2
)

func policiesAreThoseOfTheMoment(s *stage) {
	for i, policy := range lasting(quota) {
		whole := s.whole(policy)
		named := s.decide(policy, s.newSubject(), 1).Policy == policy
		for _, changed := range []int64{raised, lowered} {
			edited := lasting(changed)[i]
			s.enforce(edited)
			s.wantLeft(edited, s.newSubject(), whole+int(changed)-quota, "after the edit")
			if named && s.decide(edited, s.newSubject(), 1).Policy != edited {
				s.Fatalf("policy %s: a decision names the policy from before the edit", policy.ID())
			}
		}
	}
	added := newPolicy("added", 1, fixedWindow().Parameters())
	s.enforce(added)
	s.decide(added, s.newSubject(), 1)
	s.catalog.Replace(newSnapshot(added))
	removed := describe(s.evaluate(s.request(fixedWindow(), s.newSubject(), 1)))
	if never := describe(s.evaluate(s.request(unknown(), s.newSubject(), 1))); removed != never {
		s.Fatalf("a removed policy is answered with %s, and one that never was with %s", removed, never)
	}
}

func anEditKeepsWhatWasSpent(s *stage) {
	for i := range lasting(quota) {
		for _, spent := range []int{1, quota - 1} {
			for _, changed := range []int64{raised, lowered} {
				s.wantKept(lasting(quota)[i], lasting(changed)[i], spent)
			}
		}
	}
}

func (s *stage) wantKept(before, after ratelimit.Policy, spent int) {
	s.Helper()
	s.enforce(before)
	subject := s.newSubject()
	for range spent {
		s.decide(before, subject, 1)
	}
	s.enforce(after)
	s.wantLeft(after, subject, max(0, s.whole(after)-spent), "after the edit")
	if denial := s.decide(after, subject, 1); denial.Remaining < 0 {
		s.Fatalf("policy %s: %d remain after the edit, must not be negative", after.ID(), denial.Remaining)
	}
}

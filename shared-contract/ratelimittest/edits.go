package ratelimittest

import (
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

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
	for i, policy := range lasting(quota) {
		for _, spent := range []int{1, quota - 1} {
			for _, changed := range []int64{raised, lowered} {
				s.wantKept(policy, spent, "after the edit", func(_, _ pseudonym.Digest) {
					s.enforce(lasting(changed)[i])
				})
				s.wantKept(policy, spent, "after the override", func(subject, another pseudonym.Digest) {
					s.override(policy, changed, subject, another)
				})
			}
		}
	}
}

// wantKept changes what policy is to two subjects, one of whom has spent.
func (s *stage) wantKept(policy ratelimit.Policy, spent int, when string, change func(subject, another pseudonym.Digest)) {
	s.Helper()
	s.enforce(policy)
	subject, another := s.newSubject(), s.newSubject()
	for range spent {
		s.decide(policy, subject, 1)
	}
	change(subject, another)
	s.wantLeft(policy, subject, max(0, s.left(policy, another)-spent), when)
	if denial := s.decide(policy, subject, 1); denial.Remaining < 0 {
		s.Fatalf("policy %s: %d remain %s, must not be negative", policy.ID(), denial.Remaining, when)
	}
}

func overridesHold(s *stage) {
	for _, policy := range lasting(quota) {
		whole := s.whole(policy)
		usual := s.decide(policy, s.newSubject(), 1)
		for _, units := range []int64{raised, lowered} {
			subject, named := s.newSubject(), s.newSubject()
			overridden := s.override(policy, units, subject, named)
			s.wantLeft(overridden, subject, whole+int(units)-quota, "to a subject with an override")
			s.wantLeft(policy, s.newSubject(), whole, "to a subject without an override")
			s.wantNames(policy, usual, units, s.decide(policy, named, 1))
		}
	}
}

// wantNames compares a decision with the usual one, which may be wrong for other
// reasons.
func (s *stage) wantNames(policy ratelimit.Policy, usual ratelimit.Decision, units int64, decision ratelimit.Decision) {
	s.Helper()
	changed, err := policy.WithQuota(units)
	if err != nil {
		s.Fatalf("the suite made an invalid policy: %v", err)
	}
	if usual.Policy == policy && decision.Policy != changed {
		s.Fatalf("policy %s: a decision names the policy with another quota than %d", policy.ID(), units)
	}
	if usual.Limit == policy.Quota() && decision.Limit != units {
		s.Fatalf("policy %s: a decision names the limit %d, must be %d", policy.ID(), decision.Limit, units)
	}
}

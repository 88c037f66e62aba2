package ratelimittest

import (
	"context"
	"slices"

	"example.com/weir/shared-contract/ratelimit"
)

func aLevelAdmitsExactlyTheQuota(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	for i := range h.levels {
		s.wantLeftAt(h, i, quota, "to a new subject")
		s.wantLeftAt(h, i, 0, "once it is spent")
	}
}

func chargesEveryLevel(s *stage) {
	s.wantCharged(s.newHierarchy(lasting(quota)...))
	s.wantCharged(s.newHierarchy(eightPolicies()...))
}

// wantCharged asks for another cost at each level. What lasts is looked at.
func (s *stage) wantCharged(h hierarchy) {
	s.Helper()
	for i := range h.levels {
		h.levels[i].Cost = 1 + int64(i)%maxCost
	}
	whole := s.another(h)
	evaluated, decided := s.evaluateLayers(h).(ratelimit.LayeredEvaluated)
	if !decided {
		return // another clause minds
	}
	if !evaluated.Decision.Allowed() {
		s.Fatalf("%v: a request is denied by %q to new subjects", h, evaluated.Decision.RefusedBy())
	}
	for i, level := range h.levels {
		if s.policyOf(level).Window() < long {
			continue
		}
		s.wantLeftAt(h, i, s.leftAt(whole, i)-int(level.Cost), "after a request of several levels")
	}
}

func chargesAllLevelsOrNone(s *stage) {
	for i := range lasting(quota) {
		denied := s.newHierarchy(lasting(quota)...)
		undenied := s.another(denied)
		s.leftAt(denied, i)
		s.leftAt(undenied, i)
		for range 3 {
			s.decideLayers(denied)
		}
		s.wantAlike(denied, undenied, "after denials by one level")
	}
}

func namesEveryLevelThatRefuses(s *stage) {
	every := s.newHierarchy(lasting(quota)...)
	for set := 1; set < 1<<len(every.levels); set++ {
		h := s.another(every)
		var spent []string
		for i, level := range h.levels {
			if set>>i&1 == 1 {
				s.leftAt(h, i)
				spent = append(spent, level.Name)
			}
		}
		named := slices.Sorted(slices.Values(s.decideLayers(h).RefusedBy()))
		if !slices.Equal(named, spent) {
			s.Fatalf("%v: a denial is by %q, must be by %q", h, named, spent)
		}
	}
}

func anAdmissionBesideARefusalSaysWhatIsLeft(s *stage) {
	for refusing := range lasting(quota) {
		for i := range lasting(quota) {
			if i == refusing {
				continue
			}
			h := s.newHierarchy(lasting(quota)...)
			s.leftAt(h, refusing)
			s.wantSaidBeside(h, i)
		}
	}
}

// wantSaidBeside looks at a level that admits what another refuses, before and
// after something is spent.
func (s *stage) wantSaidBeside(h hierarchy, i int) {
	s.Helper()
	policy, name := s.policyOf(h.levels[i]), h.levels[i].Name
	beside := s.levelOf(s.decideLayers(h), name)
	if beside.Remaining != policy.Quota() {
		s.Fatalf("policy %s: %d remain to a new subject beside a refusal, must be %d", policy.ID(), beside.Remaining, policy.Quota())
	}
	if beside.ResetAfter != 0 && policy.Parameters().Algorithm() != ratelimit.FixedWindowAlgorithm {
		s.Fatalf("policy %s: a new subject has its whole quota %v after a refusal beside it, must have it now", policy.ID(), beside.ResetAfter)
	}
	spent := s.decideAt(h, i)
	beside = s.levelOf(s.decideLayers(h), name)
	if beside.Remaining != spent.Remaining || !beside.ResetAt.Equal(spent.ResetAt) {
		s.Fatalf("policy %s: %d remain until %v beside a refusal, must be %d until %v",
			policy.ID(), beside.Remaining, beside.ResetAt, spent.Remaining, spent.ResetAt)
	}
}

func parallelCallsShareEveryLevel(s *stage) {
	ports := []ratelimit.LayeredPort{s.layers, s.layered.NewLayeredPort()}
	for tightest := range lasting(quota) {
		atOneTime := s.newHierarchy(lasting(quota)...)
		inARow := s.another(atOneTime)
		s.spendAt(atOneTime, tightest, quota-lowered)
		s.spendAt(inARow, tightest, quota-lowered)

		request := s.layeredRequest(atOneTime)
		admitted := 0
		for _, answer := range atOnce(s, callers, func(ctx context.Context, i int) ratelimit.LayeredOutcome {
			return ports[i%len(ports)].EvaluateLayers(ctx, request)
		}) {
			evaluated, decided := answer.outcome.(ratelimit.LayeredEvaluated)
			if !decided {
				s.Fatalf("%v: an outcome is %s, must be a decision", atOneTime, describe(answer.outcome))
			}
			if evaluated.Decision.Allowed() {
				admitted++
			}
		}
		for range callers {
			if s.decideLayers(inARow).Allowed() {
				admitted--
			}
		}
		if admitted != 0 {
			s.Fatalf("%v: %d more calls are admitted at one time than in a row", atOneTime, admitted)
		}
		s.wantAlike(atOneTime, inARow, "after calls at one time")
	}
}

// eightPolicies are as many as a request can have levels; the last ones last.
func eightPolicies() []ratelimit.Policy { return append(brief(), lasting(quota)...) }

func eightLevelsAreDecidedAtOnce(s *stage) {
	h := s.newHierarchy(eightPolicies()...)
	if decision := s.decideLayers(h); !decision.Allowed() || len(decision.Levels) != ratelimit.MaxLevels {
		s.Fatalf("%v: %d levels are decided and refused by %q, must be %d and none",
			h, len(decision.Levels), decision.RefusedBy(), ratelimit.MaxLevels)
	}
}

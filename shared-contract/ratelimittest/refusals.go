package ratelimittest

import (
	"context"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func refusesTheZeroRequest(s *stage) {
	s.wantUnavailable(s.evaluate(ratelimit.Request{}), failure.InvalidRequest)
}

func refusesACallWithoutADeadline(s *stage) {
	s.wantRefusal(context.Background(), 1, failure.InvalidRequest)
}

func refusesACallThatIsTooLate(s *stage) {
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	s.wantRefusal(ctx, 1, failure.DeadlineTooShort)
}

func refusesACancelledCall(s *stage) {
	ctx, cancel := withDeadline()
	cancel()
	s.wantRefusal(ctx, 1, failure.Cancelled)
}

func refusesACostAboveTheMaximum(s *stage) {
	ctx, cancel := withDeadline()
	defer cancel()
	s.wantRefusal(ctx, maxCost+1, failure.InvalidRequest)
}

func refusesAnEvaluationID(s *stage) {
	policy, subject := fixedWindow(), s.newSubject()
	request := s.requestOf(ratelimit.RequestSpec{PolicyID: policy.ID(), Subject: subject, Cost: 1, EvaluationID: "evaluation-1"})
	s.wantUnavailable(s.evaluate(request), failure.Unsupported)
	s.wantLeft(policy, subject, s.whole(policy), "after the refusal")
}

func refusesAnUnknownPolicy(s *stage) {
	s.wantUnknownPolicy(s.evaluate(s.request(unknown(), s.newSubject(), 1)))
}

func failuresNameThePolicy(s *stage) {
	s.wantNamed(unknown(), 1)
	s.wantNamed(fixedWindow(), maxCost+1)
	s.disconnect()
	s.wantNamed(fixedWindow(), 1)
	s.mend()
	s.loseReplies()
	s.wantNamed(fixedWindow(), 1)
}

// unknown is a policy that is never in force.
func unknown() ratelimit.Policy { return newPolicy("unknown", 1, fixedWindow().Parameters()) }

// wantRefusal makes a call that must be refused without a charge.
func (s *stage) wantRefusal(ctx context.Context, cost int64, category failure.Category) {
	s.Helper()
	policy, subject := fixedWindow(), s.newSubject()
	s.wantUnavailable(pointedAt(s.call(ctx, s.request(policy, subject, cost))), category)
	s.wantLeft(policy, subject, s.whole(policy), "after the refusal")
}

func (s *stage) wantUnavailable(outcome any, category failure.Category) {
	s.Helper()
	if unavailable, ok := outcome.(ratelimit.Unavailable); !ok || unavailable.Category != category {
		s.Fatalf("the outcome is %s, must be Unavailable(%s)", describe(outcome), category)
	}
}

func (s *stage) wantUnknownPolicy(outcome any) {
	s.Helper()
	if incompatible, ok := outcome.(ratelimit.Incompatible); !ok || incompatible.Category != failure.UnknownPolicy {
		s.Fatalf("the outcome is %s, must be Incompatible(%s)", describe(outcome), failure.UnknownPolicy)
	}
}

// wantNamed makes a call that fails in one way or another.
func (s *stage) wantNamed(policy ratelimit.Policy, cost int64) {
	s.Helper()
	s.wantAbout(s.evaluate(s.request(policy, s.newSubject(), cost)), policy.ID())
}

func (s *stage) wantAbout(outcome any, policyID string) {
	s.Helper()
	var id string
	var retryAfter time.Duration
	switch o := outcome.(type) {
	case ratelimit.Unavailable:
		id, retryAfter = o.PolicyID, o.RetryAfter
	case ratelimit.Indeterminate:
		id, retryAfter = o.PolicyID, o.RetryAfter
	case ratelimit.Incompatible:
		id, retryAfter = o.PolicyID, o.RetryAfter
	default:
		return // not a failure, which another clause minds
	}
	if id != policyID {
		s.Fatalf("%s is about policy %q, must be about %q", describe(outcome), id, policyID)
	}
	if retryAfter < 0 {
		s.Fatalf("%s says to wait %v, must not be negative", describe(outcome), retryAfter)
	}
}

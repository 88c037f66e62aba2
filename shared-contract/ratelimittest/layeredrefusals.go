package ratelimittest

import (
	"context"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func layersAnswerWithValues(s *stage) {
	h := s.pair()
	s.wantLayeredValue("an admission", h)
	s.leftAt(h, 0)
	s.wantLayeredValue("a denial", h)
	s.wantLayeredValue("an unknown policy", h.with(0, underUnknownPolicy))
	s.disconnect()
	s.wantLayeredValue("an unreachable store", h)
	s.mend()
	s.loseReplies()
	s.wantLayeredValue("a lost reply", h)
	s.mend()
	s.loseReplies()
	ctx, cancel := withDeadline()
	time.AfterFunc(pollInterval, cancel)
	s.wantLayeredValueOf(ctx, "a call cancelled on its way", s.layeredRequest(h))
	s.mend()
	ctx, cancel = withDeadline()
	defer cancel()
	s.wantLayeredValueOf(ctx, "the zero request", ratelimit.LayeredRequest{})
}

func (s *stage) wantLayeredValue(situation string, h hierarchy) {
	s.Helper()
	ctx, cancel := withDeadline()
	defer cancel()
	s.wantLayeredValueOf(ctx, situation, s.layeredRequest(h))
}

func (s *stage) wantLayeredValueOf(ctx context.Context, situation string, request ratelimit.LayeredRequest) {
	s.Helper()
	switch outcome := s.callLayers(ctx, request).(type) {
	case ratelimit.LayeredEvaluated, ratelimit.Unavailable, ratelimit.Indeterminate, ratelimit.Incompatible:
	default:
		s.Fatalf("%s is answered with %T, must be one of the values of package ratelimit", situation, outcome)
	}
}

func layersRefuseTheZeroRequest(s *stage) {
	ctx, cancel := withDeadline()
	defer cancel()
	s.wantUnavailable(pointedAt(s.callLayers(ctx, ratelimit.LayeredRequest{})), failure.InvalidRequest)
}

func layersRefuseACallWithoutADeadline(s *stage) {
	s.wantLayeredRefusal(context.Background(), failure.InvalidRequest)
}

func layersRefuseACallThatIsTooLate(s *stage) {
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	s.wantLayeredRefusal(ctx, failure.DeadlineTooShort)
}

func layersRefuseACancelledCall(s *stage) {
	ctx, cancel := withDeadline()
	cancel()
	s.wantLayeredRefusal(ctx, failure.Cancelled)
}

// wantLayeredRefusal makes a call that must be refused without a charge.
func (s *stage) wantLayeredRefusal(ctx context.Context, category failure.Category) {
	s.Helper()
	h := s.pair()
	s.wantUnavailable(pointedAt(s.callLayers(ctx, s.layeredRequest(h))), category)
	s.wantUntouched(h, "after the refusal")
}

func layersRefuseACostAboveTheMaximum(s *stage) {
	s.wantRefusedAtAnyLevel(func(level *ratelimit.Level) { level.Cost = maxCost + 1 })
	s.wantRefusedAtAnyLevel(func(level *ratelimit.Level) { level.Limit, level.Cost = maxCost-1, maxCost })
}

func layersRefuseALimitAboveThePolicys(s *stage) {
	s.wantRefusedAtAnyLevel(func(level *ratelimit.Level) { level.Limit = quota + 1 })
}

// wantRefusedAtAnyLevel makes one level after the other invalid.
func (s *stage) wantRefusedAtAnyLevel(invalidate func(*ratelimit.Level)) {
	s.Helper()
	h := s.newHierarchy(lasting(quota)...)
	for i := range h.levels {
		s.wantUnavailable(s.evaluateLayers(h.with(i, invalidate)), failure.InvalidRequest)
	}
	s.wantUntouched(h, "after the refusals")
}

func layersRefuseAnUnknownPolicy(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	for i := range h.levels {
		s.wantUnknownPolicy(s.evaluateLayers(h.with(i, underUnknownPolicy)))
	}
	s.wantUntouched(h, "after the refusals")
}

func underUnknownPolicy(level *ratelimit.Level) { level.PolicyID = unknown().ID() }

func layeredFailuresNameThePolicy(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	for i, level := range h.levels {
		s.wantAbout(s.evaluateLayers(h.with(i, underUnknownPolicy)), unknown().ID())
		tooDear := h.with(i, func(level *ratelimit.Level) { level.Cost = maxCost + 1 })
		s.wantAbout(s.evaluateLayers(tooDear), level.PolicyID)
	}
	s.disconnect()
	s.wantAbout(s.evaluateLayers(h), "")
	s.mend()
	s.loseReplies()
	s.wantAbout(s.evaluateLayers(h), "")
}

package ratelimittest

import (
	"context"
	"slices"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func anUnreachableStoreChargesNoLevel(s *stage) {
	h := s.pair()
	s.disconnect()
	for range 2 {
		s.wantUnavailable(s.evaluateLayers(h), failure.Connection)
	}
	s.mend()
	s.wantUntouched(h, "after the store could not be reached")
}

func aLostReplyLeavesDoubtAboutLevels(s *stage) {
	s.loseReplies()
	s.wantNoReply(s.evaluateLayers(s.pair()))
}

func chargesLevelsAtMostOnce(s *stage) {
	h := s.newHierarchy(lasting(quota)...)
	answered, untouched := s.another(h), s.another(h)
	s.decideLayers(answered)
	s.loseReplies()
	s.evaluateLayers(h)
	s.mend()
	left, want := s.leftAtAll(h), s.leftAtAll(answered)
	if slices.Equal(left, s.leftAtAll(untouched)) {
		s.Fatalf("%v: the call with the lost reply did not reach the store, which the harness promises", h)
	}
	if !slices.Equal(left, want) {
		s.Fatalf("%v: %d units are left after a lost reply, must be %d", h, left, want)
	}
}

func layersAnswerByTheDeadline(s *stage) {
	s.disconnect()
	wantPunctual(s, "an unreachable store", s.callLayersAtOnce(aFew))
	s.mend()
	s.loseReplies()
	wantPunctual(s, "a silent store", s.callLayersAtOnce(aFew))
}

func layersDecideAgain(s *stage) {
	s.disconnect()
	h := s.pair()
	for range manyFailures {
		s.evaluateLayers(h)
	}
	s.mend()
	s.loseReplies()
	s.callLayersAtOnce(manyFailures)
	s.mend()
}

func (s *stage) callLayersAtOnce(times int) []answer[ratelimit.LayeredOutcome] {
	s.Helper()
	request := s.layeredRequest(s.pair())
	return atOnce(s, times, func(ctx context.Context, _ int) ratelimit.LayeredOutcome {
		return s.layers.EvaluateLayers(ctx, request)
	})
}

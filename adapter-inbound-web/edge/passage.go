package edge

import (
	"context"
	"slices"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
)

// passageKey marks a request that was let pass, decided or exempt. The mark is
// the same for all middleware of this package, so of two that a request passes
// the first alone has a say.
type passageKey struct{}

// DecisionFrom returns the decision that let the request of ctx pass, and
// whether there is one: there is none outside the middleware, and none for a
// request that passed undecided, because it is exempt or by [FailOpen]. Of the
// decision of several levels it is the one of [answer.Tightest].
func DecisionFrom(ctx context.Context) (ratelimit.Decision, bool) {
	switch decision := ctx.Value(passageKey{}).(type) {
	case *ratelimit.Decision:
		return *decision, true
	case *ratelimit.LayeredDecision:
		return answer.Tightest(*decision).Decision, true
	default:
		return ratelimit.Decision{}, false
	}
}

// LayeredDecisionFrom returns the decision of several levels that let the request
// of ctx pass, and whether there is one. It is the caller's own.
func LayeredDecisionFrom(ctx context.Context) (ratelimit.LayeredDecision, bool) {
	decision, ok := ctx.Value(passageKey{}).(*ratelimit.LayeredDecision)
	if !ok {
		return ratelimit.LayeredDecision{}, false
	}
	return ratelimit.LayeredDecision{Levels: slices.Clone(decision.Levels)}, true
}

// undecided settles that a request passes without a decision.
type undecided struct{}

func isSettled(ctx context.Context) bool { return ctx.Value(passageKey{}) != nil }

func withDecision(ctx context.Context, decision ratelimit.Decision) context.Context {
	return context.WithValue(ctx, passageKey{}, &decision)
}

func withLayeredDecision(ctx context.Context, decision ratelimit.LayeredDecision) context.Context {
	return context.WithValue(ctx, passageKey{}, &decision)
}

func withoutDecision(ctx context.Context) context.Context {
	return context.WithValue(ctx, passageKey{}, undecided{})
}

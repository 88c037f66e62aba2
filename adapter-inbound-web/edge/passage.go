package edge

import (
	"context"

	"example.com/weir/shared-contract/ratelimit"
)

// passageKey marks a request that was let pass, decided or exempt. The mark is
// the same for all middleware of this package, so of two that a request passes
// the first alone has a say.
type passageKey struct{}

// DecisionFrom returns the decision that let the request of ctx pass, and
// whether there is one: there is none outside the middleware, and none for an
// exempt request.
func DecisionFrom(ctx context.Context) (ratelimit.Decision, bool) {
	decision, _ := ctx.Value(passageKey{}).(*ratelimit.Decision)
	if decision == nil {
		return ratelimit.Decision{}, false
	}
	return *decision, true
}

func isSettled(ctx context.Context) bool { return ctx.Value(passageKey{}) != nil }

func withDecision(ctx context.Context, decision ratelimit.Decision) context.Context {
	return context.WithValue(ctx, passageKey{}, &decision)
}

// withExemption settles that a request passes undecided.
func withExemption(ctx context.Context) context.Context {
	return context.WithValue(ctx, passageKey{}, (*ratelimit.Decision)(nil))
}

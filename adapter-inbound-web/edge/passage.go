package edge

import (
	"context"

	"example.com/weir/shared-contract/ratelimit"
)

// passageKey marks a request that was decided. The mark is the same for all
// middleware of this package, so a request that passes two of them is charged by
// the first alone.
type passageKey struct{}

// DecisionFrom returns the decision that let the request of ctx pass, and
// whether there is one: there is none outside the middleware, and none for an
// exempt request.
func DecisionFrom(ctx context.Context) (ratelimit.Decision, bool) {
	decision, decided := ctx.Value(passageKey{}).(*ratelimit.Decision)
	if !decided {
		return ratelimit.Decision{}, false
	}
	return *decision, true
}

func isDecided(ctx context.Context) bool { return ctx.Value(passageKey{}) != nil }

func withDecision(ctx context.Context, decision ratelimit.Decision) context.Context {
	return context.WithValue(ctx, passageKey{}, &decision)
}

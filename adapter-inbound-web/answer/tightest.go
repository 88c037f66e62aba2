package answer

import "example.com/weir/shared-contract/ratelimit"

// Tightest is the level that stands for all where only one can be shown.
//
// Of an admission it is the one of which the least is left, in units and not in
// parts of its quota, because a request costs as much at one level as at another.
// Of a denial it is the refusing one with the longest wait, which Retry-After
// names. Of equals it is the first. The decision must have a level.
func Tightest(decision ratelimit.LayeredDecision) ratelimit.LevelDecision {
	tightest := decision.Levels[0]
	for _, level := range decision.Levels[1:] {
		if isTighter(level.Decision, tightest.Decision) {
			tightest = level
		}
	}
	return tightest
}

func isTighter(one, other ratelimit.Decision) bool {
	switch {
	case one.Allowed != other.Allowed:
		return !one.Allowed
	case !one.Allowed:
		return one.RetryAfter > other.RetryAfter
	default:
		return one.Remaining < other.Remaining
	}
}

package measure

import (
	"fmt"
	"time"

	"example.com/weir/lua"
	"example.com/weir/shared-contract/ratelimit"
)

// weirCall is one of Weir's programs, called for one kind of answer.
type weirCall struct {
	name       string
	policyID   string
	parameters ratelimit.Parameters
	program    lua.Program
	// arguments are the one line of the manifest, for these parameters.
	arguments []any
	answer    string
}

// Windows and buckets of calls that are denied outlast any run: what the first
// evaluation has spent must not come back.
const month = 30 * 24 * time.Hour

// What comes last in every program's argument: maximum cost, grace, bound of
// the clock's regression, cost.
const (
	maxCost    = 1
	grace      = 60_000
	regression = 250
	cost       = 1
)

func weirCalls() []weirCall {
	const plenty = 1_000_000_000
	return []weirCall{
		{
			"weir/fixed-window/admission", "bench-fw-admit", ratelimit.FixedWindow{Limit: plenty, Window: month},
			lua.FixedWindow(), windowArguments("fw1", plenty), "ALLOWED",
		},
		{
			"weir/fixed-window/denial", "bench-fw-deny", ratelimit.FixedWindow{Limit: 1, Window: month},
			lua.FixedWindow(), windowArguments("fw1", 1), "DENIED",
		},
		{
			"weir/sliding-counter/admission", "bench-sc-admit", ratelimit.SlidingCounter{Limit: plenty, Window: month},
			lua.SlidingCounter(), windowArguments("sc1", plenty), "ALLOWED",
		},
		{
			"weir/sliding-counter/denial", "bench-sc-deny", ratelimit.SlidingCounter{Limit: 1, Window: month},
			lua.SlidingCounter(), windowArguments("sc1", 1), "DENIED",
		},
		{
			"weir/token-bucket/admission", "bench-tb-admit",
			ratelimit.TokenBucket{Capacity: 5_000_000, RefillTokens: 1, RefillInterval: time.Minute},
			lua.TokenBucket(), bucketArguments(5_000_000, time.Minute), "ALLOWED",
		},
		{
			"weir/token-bucket/denial", "bench-tb-deny",
			ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillInterval: month},
			lua.TokenBucket(), bucketArguments(1, month), "DENIED",
		},
	}
}

const revision = 1

func windowArguments(label string, limit int64) []any {
	return []any{fmt.Sprintf("%s:%d:%d %d %s", label, revision, month.Milliseconds(), limit, bounds())}
}

func bucketArguments(capacity int64, interval time.Duration) []any {
	const refill = 1
	return []any{fmt.Sprintf("tb1:%d:%d:%d %d %s", revision, refill, interval.Milliseconds(), capacity, bounds())}
}

func bounds() string { return fmt.Sprintf("%d %d %d %d", maxCost, grace, regression, cost) }

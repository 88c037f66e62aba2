package measure

import (
	"fmt"
	"time"

	"example.com/weir/bench/contender"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/ratelimit"
)

// weirCall is one of Weir's programs, called for one kind of answer.
type weirCall struct {
	name    string
	program lua.Program
	// levels are several for the program of several levels only.
	levels []level
}

// level is one of a call: what it is decided by, and what comes of it.
type level struct {
	policy contender.Policy
	answer string
}

// replyFields is how many of a reply's fields each level has. The first is its
// answer.
const replyFields = 7

const (
	admission = "ALLOWED"
	denial    = "DENIED"
)

// Windows and buckets of calls that are denied outlast any run: what the first
// evaluation has spent must not come back.
const month = 30 * 24 * time.Hour

func weirCalls() []weirCall {
	const plenty = 1_000_000_000
	var (
		wideWindow    = ratelimit.FixedWindow{Limit: plenty, Window: month}
		wideCounter   = ratelimit.SlidingCounter{Limit: plenty, Window: month}
		wideBucket    = ratelimit.TokenBucket{Capacity: 5_000_000, RefillTokens: 1, RefillInterval: time.Minute}
		narrowWindow  = ratelimit.FixedWindow{Limit: 1, Window: month}
		narrowCounter = ratelimit.SlidingCounter{Limit: 1, Window: month}
		narrowLog     = ratelimit.SlidingLog{Limit: 1, Window: month}
		narrowBucket  = ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillInterval: month}

		// A log grows by each admission. This one forgets them after some rounds.
		wideLog = ratelimit.SlidingLog{Limit: ratelimit.MaxSlidingLogLimit, Window: time.Minute}
	)
	calls := []weirCall{
		single("weir/fixed-window/admission", "bench-fw-admit", lua.FixedWindow(), wideWindow, admission),
		single("weir/fixed-window/denial", "bench-fw-deny", lua.FixedWindow(), narrowWindow, denial),
		single("weir/sliding-counter/admission", "bench-sc-admit", lua.SlidingCounter(), wideCounter, admission),
		single("weir/sliding-counter/denial", "bench-sc-deny", lua.SlidingCounter(), narrowCounter, denial),
		single("weir/sliding-log/admission", "bench-sl-admit", lua.SlidingLog(), wideLog, admission),
		single("weir/sliding-log/denial", "bench-sl-deny", lua.SlidingLog(), narrowLog, denial),
		single("weir/token-bucket/admission", "bench-tb-admit", lua.TokenBucket(), wideBucket, admission),
		single("weir/token-bucket/denial", "bench-tb-deny", lua.TokenBucket(), narrowBucket, denial),
	}
	for count := 1; count <= contender.MostLevels; count++ {
		call := weirCall{name: contender.LayeredProgram(count), program: lua.Layered()}
		for i := range count {
			call.add(fmt.Sprintf("bench-l%d-%d-admit", count, i+1), wideWindow, admission)
		}
		calls = append(calls, call)
	}
	mixed := weirCall{name: "weir/layered/2-mixed/admission", program: lua.Layered()}
	mixed.add("bench-lm-1-admit", wideBucket, admission)
	mixed.add("bench-lm-2-admit", wideWindow, admission)
	denied := weirCall{name: "weir/layered/2/denial", program: lua.Layered()}
	denied.add("bench-l2-1-deny", narrowWindow, denial)
	denied.add("bench-l2-2-deny", wideWindow, admission)
	return append(calls, mixed, denied)
}

func single(name, policyID string, program lua.Program, parameters ratelimit.Parameters, answer string) weirCall {
	call := weirCall{name: name, program: program}
	call.add(policyID, parameters, answer)
	return call
}

func (c *weirCall) add(policyID string, parameters ratelimit.Parameters, answer string) {
	c.levels = append(c.levels, level{contender.Policy{ID: policyID, Parameters: parameters}, answer})
}

// arguments are the one line of the manifest for each level.
func (c weirCall) arguments() []any {
	lines := make([]any, len(c.levels))
	for i, level := range c.levels {
		lines[i] = argument(level.policy.Parameters)
	}
	return lines
}

// What comes last in every program's argument: maximum cost, grace, bound of
// the clock's regression, cost.
const (
	maxCost    = 1
	grace      = 60_000
	regression = 250
	cost       = 1
)

const revision = 1

func argument(parameters ratelimit.Parameters) string {
	switch p := parameters.(type) {
	case ratelimit.FixedWindow:
		return windowArgument("fw1", p.Window, p.Limit)
	case ratelimit.SlidingCounter:
		return windowArgument("sc1", p.Window, p.Limit)
	case ratelimit.SlidingLog:
		return windowArgument("sl1", p.Window, p.Limit)
	case ratelimit.TokenBucket:
		return fmt.Sprintf("tb1:%d:%d:%d %d %s", revision, p.RefillTokens, p.RefillInterval.Milliseconds(), p.Capacity, bounds())
	default:
		panic(fmt.Sprintf("no program takes %T", parameters))
	}
}

func windowArgument(label string, window time.Duration, limit int64) string {
	return fmt.Sprintf("%s:%d:%d %d %s", label, revision, window.Milliseconds(), limit, bounds())
}

func bounds() string { return fmt.Sprintf("%d %d %d %d", maxCost, grace, regression, cost) }

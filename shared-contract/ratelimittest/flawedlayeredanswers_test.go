package ratelimittest

import (
	"slices"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Flaws in what is answered of several levels.

func answeringLayers(edit func(ratelimit.LayeredOutcome) ratelimit.LayeredOutcome) flaw {
	return calling(func(c layeredCall) ratelimit.LayeredOutcome { return edit(c.soundly()) })
}

func decidingLayers(edit func(*ratelimit.LayeredDecision)) flaw {
	return answeringLayers(func(outcome ratelimit.LayeredOutcome) ratelimit.LayeredOutcome {
		evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
		if !decided {
			return outcome
		}
		edit(&evaluated.Decision)
		return evaluated
	})
}

func everyLevel(edit func(*ratelimit.Decision)) flaw {
	return decidingLayers(func(d *ratelimit.LayeredDecision) { editLevels(d, edit) })
}

func editLevels(d *ratelimit.LayeredDecision, edit func(*ratelimit.Decision)) {
	for i := range d.Levels {
		edit(&d.Levels[i].Decision)
	}
}

func admittingLevels(edit func(*ratelimit.Decision)) flaw {
	return everyLevel(func(d *ratelimit.Decision) {
		if d.Allowed {
			edit(d)
		}
	})
}

func refusingLevels(edit func(*ratelimit.Decision)) flaw {
	return everyLevel(func(d *ratelimit.Decision) {
		if !d.Allowed {
			edit(d)
		}
	})
}

// besideRefusals edits what levels say that admit what another refuses.
func besideRefusals(edit func(*ratelimit.Decision)) flaw {
	return decidingLayers(func(d *ratelimit.LayeredDecision) {
		if d.Allowed() {
			return
		}
		editLevels(d, func(level *ratelimit.Decision) {
			if level.Allowed {
				edit(level)
			}
		})
	})
}

// refusedByOne leaves one of several levels that refuse. It spares brief policies,
// whose waits count.
func refusedByOne(which func(names []string) string) flaw {
	return decidingLayers(func(d *ratelimit.LayeredDecision) {
		if names := d.RefusedBy(); len(names) > 1 && d.Levels[0].Policy.Window() >= long {
			one := which(names)
			for i, level := range d.Levels {
				if level.Level != one {
					d.Levels[i].Allowed, d.Levels[i].RetryAfter = true, 0
				}
			}
		}
	})
}

func firstOf(names []string) string { return names[0] }
func lastOf(names []string) string  { return names[len(names)-1] }

func reversed(d *ratelimit.LayeredDecision) { slices.Reverse(d.Levels) }

// remainingBeforeTheCharge is wrong about several levels only.
func remainingBeforeTheCharge(d *ratelimit.LayeredDecision) {
	if d.Allowed() && len(d.Levels) > 1 {
		editLevels(d, func(level *ratelimit.Decision) { level.Remaining = level.Limit })
	}
}

// oneAfterTheOther lets time pass from level to level. It spares brief policies,
// whose resets count.
func oneAfterTheOther(d *ratelimit.LayeredDecision) {
	for i, level := range d.Levels {
		if d.Allowed() && level.Policy.Window() >= long {
			d.Levels[i].ResetAfter -= time.Duration(i) * time.Millisecond
		}
	}
}

func longestWaitAtEveryLevel(d *ratelimit.LayeredDecision) {
	longest := d.RetryAfter()
	editLevels(d, func(level *ratelimit.Decision) {
		if !level.Allowed {
			shiftReset(level, longest-level.RetryAfter)
			level.RetryAfter = longest
		}
	})
}

// namesItsPolicyWithoutLimit at levels that have one.
func namesItsPolicyWithoutLimit(c layeredCall) ratelimit.LayeredOutcome {
	outcome := c.soundly()
	evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
	if !decided {
		return outcome
	}
	for i, level := range c.request.Levels() {
		evaluated.Decision.Levels[i].Policy, _ = c.harness.catalog.Current().PolicyFor(level.PolicyID, level.Subject)
	}
	return evaluated
}

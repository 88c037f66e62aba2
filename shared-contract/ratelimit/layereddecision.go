package ratelimit

import (
	"math"
	"time"
)

// LayeredOutcome is what the evaluation of a [LayeredRequest] came to: exactly
// one of the values below, under the rules of [Outcome]. The PolicyID of a failure
// is that of the level at fault, and empty if it is nobody's in particular.
//
//	LayeredEvaluated  allowed and charged at all levels, or denied and at none
//	Unavailable       not charged, and that is known
//	Indeterminate     dispatched; may have been charged
//	Incompatible      policy, state, program or reply does not match
//
//sumtype:decl
type LayeredOutcome interface{ layeredOutcome() }

// LayeredEvaluated carries a decision of several levels.
type LayeredEvaluated struct {
	Decision LayeredDecision
}

func (LayeredEvaluated) layeredOutcome() {}
func (Unavailable) layeredOutcome()      {}
func (Indeterminate) layeredOutcome()    {}
func (Incompatible) layeredOutcome()     {}

// LayeredDecision is what each level says. What they say together follows from
// that. The zero LayeredDecision denies.
type LayeredDecision struct {
	// Levels are in the order of the request.
	Levels []LevelDecision
}

// LevelDecision is what one level says, by itself. If it admits what another
// level refuses, nothing was charged, and Remaining, ResetAfter and ResetAt are
// those of what was spent before.
type LevelDecision struct {
	Decision

	// Level is the level's name.
	Level string
}

// Allowed reports whether every level admits the request, so that it was charged
// at all of them.
func (d LayeredDecision) Allowed() bool {
	for _, level := range d.Levels {
		if !level.Allowed {
			return false
		}
	}
	return len(d.Levels) > 0
}

// Answers reports whether d has a decision for each level of request, in its order.
// One that has not is a broken adapter's, and means nothing.
func (d LayeredDecision) Answers(request LayeredRequest) bool {
	if len(d.Levels) != request.Len() {
		return false
	}
	for i, level := range request.Levels() {
		if d.Levels[i].Level != level.Name {
			return false
		}
	}
	return true
}

// RefusedBy lists the names of the levels that refuse the request, in its order.
func (d LayeredDecision) RefusedBy() []string {
	var names []string
	for _, level := range d.Levels {
		if !level.Allowed {
			names = append(names, level.Level)
		}
	}
	return names
}

// Remaining is the least that is left at any level.
func (d LayeredDecision) Remaining() int64 {
	if len(d.Levels) == 0 {
		return 0
	}
	least := int64(math.MaxInt64)
	for _, level := range d.Levels {
		least = min(least, level.Remaining)
	}
	return least
}

// RetryAfter is the longest wait of any level that refuses; zero on an admission.
// Before it has passed the same request is refused again, if the levels' quotas
// stay as they are.
func (d LayeredDecision) RetryAfter() time.Duration {
	var longest time.Duration
	for _, level := range d.Levels {
		if !level.Allowed {
			longest = max(longest, level.RetryAfter)
		}
	}
	return longest
}

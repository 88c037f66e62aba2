package legacy

import (
	"context"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// evaluator puts the questions of older limiters to a port.
type evaluator struct {
	port       ratelimit.LayeredPort
	key        *pseudonym.Key
	addressing pseudonym.Addressing
	deadline   time.Duration
	// most is the highest limit that a caller may give a level, and source says
	// whose it is.
	most   func(ratelimit.Level) int64
	source string
}

// level is a level as the caller names it.
type level struct {
	name     string
	policyID string
	key      string
	keyField string // the argument's name
	limit    int
	// limitField is the argument's name, and empty if the caller gives no limit.
	limitField string
	shared     bool
}

// evaluate spends one request at each of levels, or at none. Their root is that of
// [ratelimit.DefaultRoot].
func (e *evaluator) evaluate(ctx context.Context, levels ...level) (ratelimit.LayeredDecision, error) {
	request, err := e.request(levels)
	if err != nil {
		return ratelimit.LayeredDecision{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, e.deadline)
	defer cancel()
	return decisionOf(ctx, request, e.port.EvaluateLayers(bounded, request))
}

func (e *evaluator) request(levels []level) (ratelimit.LayeredRequest, error) {
	var faults ratelimit.Faults
	var spec ratelimit.LayeredRequestSpec
	for _, l := range levels {
		spec.Levels = append(spec.Levels, e.level(l, &faults))
	}
	if err := faults.Err(); err != nil {
		return ratelimit.LayeredRequest{}, err
	}
	spec.Root = spec.Levels[ratelimit.DefaultRoot(spec.Levels)].Subject
	return ratelimit.NewLayeredRequest(spec)
}

// level is l in the contract's words. A limit of zero would mean the policy's
// there, so none that a caller gives gets through unchecked.
func (e *evaluator) level(l level, faults *ratelimit.Faults) ratelimit.Level {
	subject, err := e.addressing.ParseSubject(l.key)
	if err != nil {
		faults.Add(l.keyField, "%v", err)
	}
	level := ratelimit.Level{
		Name:     l.name,
		PolicyID: l.policyID,
		Subject:  subject.Digest(e.key),
		Cost:     1,
		Limit:    int64(l.limit),
		Shared:   l.shared,
	}
	if l.limitField == "" {
		return level
	}
	if most := e.most(level); level.Limit < 1 || level.Limit > most {
		faults.Add(l.limitField, "is %d, must be 1 to %s%d", l.limit, e.source, most)
	}
	return level
}

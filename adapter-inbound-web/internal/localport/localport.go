// Package localport puts the local limiter into the contract's words, for the
// packages that decide by it.
package localport

import (
	"strconv"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Process is the source of a local limiter's decisions.
const Process ratelimit.Source = "LOCAL_PROCESS"

// Each level is a charge, so this does not compile if the limiter takes fewer than
// a request may have.
const _ = uint(locallimit.MaxCharges - ratelimit.MaxLevels)

// NewPolicy describes a local limit to clients. Its parameters are of the kind that
// comes closest; only their quota and window are ever used. The error is
// [ratelimit.Faults].
func NewPolicy(id string, revision, limit int64, window time.Duration) (ratelimit.Policy, error) {
	return ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      revision,
		Parameters:    ratelimit.SlidingCounter{Limit: limit, Window: window},
		MaxCost:       1,
		FailurePolicy: ratelimit.FailClosed,
	})
}

// Decision is what the limiter said at now under policy.
func Decision(policy ratelimit.Policy, result locallimit.Result, now time.Time) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:    result.Allowed,
		Limit:      int64(result.Limit),
		Remaining:  int64(result.Remaining),
		RetryAfter: result.RetryAfter,
		ResetAfter: result.Reset,
		ResetAt:    now.Add(result.Reset),
		Policy:     policy,
		Source:     Process,
		Certainty:  policy.Parameters().Certainty(),
	}
}

// Decide charges request to limiter, at each level under the policy that policyOf
// gives it, which is one of [NewPolicy]. It returns false, and nothing was charged,
// if policyOf gives none or a level costs more than the quota.
func Decide(limiter *locallimit.Layers, request ratelimit.LayeredRequest, policyOf func(ratelimit.Level) (ratelimit.Policy, bool)) (ratelimit.LayeredDecision, bool) {
	policies := make([]ratelimit.Policy, request.Len())
	charges := make([]locallimit.Charge, request.Len())
	for i, level := range request.Levels() {
		policy, known := policyOf(level)
		if !known {
			return ratelimit.LayeredDecision{}, false
		}
		policies[i] = policy
		charges[i] = locallimit.Charge{
			Counter: counterOf(policy),
			Key:     keyOf(request.Scope(level), level.Subject),
			Limit:   int(policy.Quota()),
			Window:  policy.Window(),
			Cost:    int(level.Cost),
		}
	}
	results, err := limiter.Take(charges)
	if err != nil {
		return ratelimit.LayeredDecision{}, false
	}
	now := time.Now().UTC()
	levels := make([]ratelimit.LevelDecision, request.Len())
	for i, level := range request.Levels() {
		levels[i] = ratelimit.LevelDecision{Level: level.Name, Decision: Decision(policies[i], results[i], now)}
	}
	return ratelimit.LayeredDecision{Levels: levels}, true
}

// counterOf tells windows of different lengths apart, too: that of a bucket
// follows its capacity, and a subject may have one of its own.
func counterOf(policy ratelimit.Policy) string {
	var buffer [128]byte
	text := append(buffer[:0], policy.ID()...)
	text = append(text, '/')
	text = strconv.AppendInt(text, policy.Revision(), 10)
	text = append(text, '/')
	text = strconv.AppendInt(text, policy.Window().Milliseconds(), 10)
	return string(text)
}

func keyOf(scope, subject pseudonym.Digest) string { return string(scope[:]) + string(subject[:]) }

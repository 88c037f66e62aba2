package evaluation

import (
	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
)

// evaluated is the document that answers an evaluation.
type evaluated struct {
	Outcome  string   `json:"outcome"`
	Decision decision `json:"decision"`
}

type decision struct {
	Allowed          bool                `json:"allowed"`
	PolicyID         string              `json:"policyId"`
	PolicyRevision   int64               `json:"policyRevision"`
	Algorithm        ratelimit.Algorithm `json:"algorithm"`
	Limit            int64               `json:"limit"`
	Remaining        int64               `json:"remaining"`
	RetryAfterMillis int64               `json:"retryAfterMillis"`
	ResetAt          string              `json:"resetAt"`
	Source           ratelimit.Source    `json:"source"`
	Certainty        ratelimit.Certainty `json:"certainty"`
}

// resetLayout is RFC 3339 with exactly three digits of milliseconds, which
// time.RFC3339Nano would leave out when they are zero.
const resetLayout = "2006-01-02T15:04:05.000Z07:00"

func newEvaluated(d ratelimit.Decision) evaluated {
	return evaluated{Outcome: "evaluated", Decision: decision{
		Allowed:          d.Allowed,
		PolicyID:         d.Policy.ID(),
		PolicyRevision:   d.Policy.Revision(),
		Algorithm:        d.Policy.Parameters().Algorithm(),
		Limit:            d.Limit,
		Remaining:        d.Remaining,
		RetryAfterMillis: answer.Milliseconds(d.RetryAfter),
		ResetAt:          d.ResetAt.UTC().Format(resetLayout),
		Source:           d.Source,
		Certainty:        d.Certainty,
	}}
}

package evaluation

import (
	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
)

// evaluated is the document that answers an evaluation.
type evaluated[D decision | layeredDecision] struct {
	Outcome  string `json:"outcome"`
	Decision D      `json:"decision"`
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

// layeredDecision is what the levels say together, and what each says by itself.
type layeredDecision struct {
	Allowed          bool            `json:"allowed"`
	Remaining        int64           `json:"remaining"`
	RetryAfterMillis int64           `json:"retryAfterMillis"`
	RefusedBy        []string        `json:"refusedBy"` // never nil, which would be null
	Levels           []levelDecision `json:"levels"`
}

type levelDecision struct {
	Name string `json:"name"`
	decision
}

// resetLayout is RFC 3339 with exactly three digits of milliseconds, which
// time.RFC3339Nano would leave out when they are zero.
const resetLayout = "2006-01-02T15:04:05.000Z07:00"

func newEvaluated[D decision | layeredDecision](d D) evaluated[D] {
	return evaluated[D]{Outcome: "evaluated", Decision: d}
}

func newDecision(d ratelimit.Decision) decision {
	return decision{
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
	}
}

func newLayeredDecision(d ratelimit.LayeredDecision) layeredDecision {
	levels := make([]levelDecision, len(d.Levels))
	for i, level := range d.Levels {
		levels[i] = levelDecision{level.Level, newDecision(level.Decision)}
	}
	return layeredDecision{
		Allowed:          d.Allowed(),
		Remaining:        d.Remaining(),
		RetryAfterMillis: answer.Milliseconds(d.RetryAfter()),
		RefusedBy:        append([]string{}, d.RefusedBy()...),
		Levels:           levels,
	}
}

package ratelimit

import (
	"example.com/weir/shared-contract/pseudonym"
)

// MaxEvaluationIDBytes bounds an evaluation ID.
const MaxEvaluationIDBytes = 128

// RequestSpec is what [NewRequest] checks.
type RequestSpec struct {
	PolicyID string
	Subject  pseudonym.Digest
	// Cost in units of the policy's quota, 1 to [MaxQuota].
	Cost int64
	// EvaluationID names this evaluation so that a repeated one could be
	// recognised; at most [MaxEvaluationIDBytes] bytes. Optional. No adapter of
	// this revision supports it: they answer Unavailable(unsupported).
	EvaluationID string
}

// Request asks whether a subject may spend cost units under a policy. The zero
// Request is invalid; [NewRequest] makes valid ones.
type Request struct {
	spec RequestSpec
}

// NewRequest returns a valid request, or the [Faults] of spec. Whether the
// policy exists and bears the cost is the adapter's to say.
func NewRequest(spec RequestSpec) (Request, error) {
	var faults Faults
	faults.addUnlessIdentifier("policyId", spec.PolicyID)
	if spec.Subject.IsZero() {
		faults.Add("subject", "must be given")
	}
	faults.AddUnlessBetween("cost", spec.Cost, 1, MaxQuota)
	if len(spec.EvaluationID) > MaxEvaluationIDBytes {
		faults.Add("evaluationId", "has %d bytes, must have at most %d", len(spec.EvaluationID), MaxEvaluationIDBytes)
	}
	if err := faults.Err(); err != nil {
		return Request{}, err
	}
	return Request{spec: spec}, nil
}

// IsZero reports whether r is the zero, invalid Request.
func (r Request) IsZero() bool { return r == Request{} }

// PolicyID is the policy to evaluate under.
func (r Request) PolicyID() string { return r.spec.PolicyID }

// Subject is the pseudonym of who is asking.
func (r Request) Subject() pseudonym.Digest { return r.spec.Subject }

// Cost is what the subject wants to spend, in units of the policy's quota.
func (r Request) Cost() int64 { return r.spec.Cost }

// EvaluationID is empty unless the caller named this evaluation.
func (r Request) EvaluationID() string { return r.spec.EvaluationID }

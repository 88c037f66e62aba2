package ratelimit

import "time"

// Bounds of a policy.
const (
	// MaxQuota bounds limits, capacities and revisions: the largest integer that
	// a structured field can carry (RFC 9651, section 3.3.1).
	MaxQuota int64 = 999_999_999_999_999
	// MaxWindow bounds a window and the time a bucket takes to fill: ten years.
	MaxWindow = 3660 * 24 * time.Hour
	// MaxCleanupGrace bounds how long state outlives its use.
	MaxCleanupGrace = 30 * 24 * time.Hour
)

// FailurePolicy says what becomes of a request that cannot be decided.
type FailurePolicy int

// FailClosed refuses what cannot be decided. It is the only failure policy of
// the edge port.
const FailClosed FailurePolicy = 1

// PolicySpec is what [NewPolicy] checks. All durations are whole milliseconds.
type PolicySpec struct {
	// ID is [a-z][a-z0-9-]{0,62}. It is public: it stands in headers and keys.
	ID string
	// Revision is 1 to [MaxQuota]. A new revision starts from an empty state;
	// the algorithm, window, interval and refill may change only with it.
	Revision int64
	// Parameters are one of [FixedWindow], [SlidingCounter], [SlidingLog] and
	// [TokenBucket].
	Parameters Parameters
	// MaxCost is the most that one request may spend: 1 to the quota.
	MaxCost int64
	// CleanupGrace is how long state is kept after its last use, to bear a clock
	// that runs backwards: MaxClockRegression to [MaxCleanupGrace].
	CleanupGrace time.Duration
	// MaxClockRegression is how far the store's clock may run backwards before
	// evaluations are refused as unsafe. Not negative.
	MaxClockRegression time.Duration
	// FailurePolicy must be [FailClosed].
	FailurePolicy FailurePolicy
}

// Policy is a valid, immutable policy. Policies are comparable. The zero Policy
// is none.
type Policy struct {
	spec   PolicySpec
	window time.Duration
}

// NewPolicy returns a valid policy, or the [Faults] of spec.
func NewPolicy(spec PolicySpec) (Policy, error) {
	var faults Faults
	faults.addUnlessIdentifier("id", spec.ID)
	faults.AddUnlessBetween("revision", spec.Revision, 1, MaxQuota)
	quota := MaxQuota
	if spec.Parameters == nil {
		faults.Add("algorithm", "must be given")
	} else {
		problems := spec.Parameters.check()
		if len(problems) == 0 {
			quota = spec.Parameters.Quota()
		}
		faults = append(faults, problems...)
	}
	faults.AddUnlessBetween("max-cost", spec.MaxCost, 1, quota)
	faults.AddUnlessDuration("max-clock-regression", spec.MaxClockRegression, 0, MaxCleanupGrace)
	faults.AddUnlessDuration("cleanup-grace", spec.CleanupGrace, max(0, spec.MaxClockRegression), MaxCleanupGrace)
	if spec.FailurePolicy != FailClosed {
		faults.Add("failure-policy", "must be fail-closed")
	}
	if err := faults.Err(); err != nil {
		return Policy{}, err
	}
	return Policy{spec: spec, window: spec.Parameters.Span()}, nil
}

// IsZero reports whether p is no policy.
func (p Policy) IsZero() bool { return p == Policy{} }

// ID names the policy.
func (p Policy) ID() string { return p.spec.ID }

// Revision counts incompatible edits of the policy.
func (p Policy) Revision() int64 { return p.spec.Revision }

// Parameters are the algorithm and its numbers.
func (p Policy) Parameters() Parameters { return p.spec.Parameters }

// Quota is the most that a subject can spend at once.
func (p Policy) Quota() int64 { return p.spec.Parameters.Quota() }

// Window is the time that Quota refers to.
func (p Policy) Window() time.Duration { return p.window }

// MaxCost is the most that one request may spend.
func (p Policy) MaxCost() int64 { return p.spec.MaxCost }

// CleanupGrace is how long state is kept after its last use.
func (p Policy) CleanupGrace() time.Duration { return p.spec.CleanupGrace }

// MaxClockRegression is how far the store's clock may run backwards.
func (p Policy) MaxClockRegression() time.Duration { return p.spec.MaxClockRegression }

// FailurePolicy says what becomes of a request that cannot be decided.
func (p Policy) FailurePolicy() FailurePolicy { return p.spec.FailurePolicy }

// WithQuota is p with another limit or capacity, and all else as it is: the same
// revision, so that what was spent counts on. A maximum cost above the quota is
// lowered to it. Its error holds the [Faults] of the quota.
func (p Policy) WithQuota(quota int64) (Policy, error) {
	parameters := p.spec.Parameters.withQuota(quota)
	if err := parameters.check().Err(); err != nil {
		return Policy{}, err
	}
	p.spec.Parameters = parameters
	p.spec.MaxCost = min(p.spec.MaxCost, quota)
	p.window = parameters.Span()
	return p, nil
}

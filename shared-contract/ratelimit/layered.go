package ratelimit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"example.com/weir/shared-contract/pseudonym"
)

// MaxLevels bounds the levels of a [LayeredRequest].
const MaxLevels = 8

// LayeredPort decides whether something may be spent at several levels at once,
// such as those of a user and of the tenant the user belongs to, and spends it at
// all of them or at none.
type LayeredPort interface {
	// EvaluateLayers decides one request, and charges every level if, and only
	// if, every level admits it. It is one atomic step: concurrent calls, from any
	// number of processes, never admit more than any level's policy.
	//
	// Both sides promise what they promise of [EdgePort.Evaluate], for each level.
	// The caller promises a LayeredRequest made by NewLayeredRequest; a level's
	// limit above what its policy gives its subject is answered
	// Unavailable(invalid-request). The implementer promises besides, and
	// ratelimittest.RunLayered checks,
	//   - to charge no level when it answers a denial or Unavailable;
	//   - to decide every level, so that a denial names all those that refuse;
	//   - to answer with one of the LayeredOutcome values of this package.
	//
	// EvaluateLayers is safe for concurrent use. It keeps neither ctx nor request.
	EvaluateLayers(ctx context.Context, request LayeredRequest) LayeredOutcome
}

// Level is one level of a [LayeredRequest]: who spends how much of what.
type Level struct {
	// Name tells the level from the others of its request, such as "user" or
	// "tenant": [a-z][a-z0-9-]{0,62}. It is public.
	Name string
	// PolicyID is the policy that the level is decided under.
	PolicyID string
	// Subject is the pseudonym of who spends at this level.
	Subject pseudonym.Digest
	// Cost in units of the policy's quota, 1 to [MaxQuota].
	Cost int64
	// Limit is a lower quota than the policy gives the subject: 1 to [MaxQuota].
	// Zero means what the policy gives. It comes with each call and, like an edit
	// of the policy, keeps what was spent. Of a token bucket it is the capacity. The
	// refill stays the policy's, so that it changes how much can be spent at once,
	// and not how much in the long run.
	Limit int64
	// Shared levels are one counter for all roots, and for evaluations of the
	// subject by itself. Others are counted apart for each root.
	Shared bool
}

// Effective is policy, which is the one that the level names, with the level's
// limit. Its error says that the limit is above the policy's, or the cost above
// the maximum that is left.
func (l Level) Effective(policy Policy) (Policy, error) {
	var faults Faults
	if l.Limit > policy.Quota() {
		faults.Add("limit", "is %d, must be at most the policy's, %d", l.Limit, policy.Quota())
		return Policy{}, faults.Err()
	}
	if l.Limit > 0 {
		lowered, err := policy.WithQuota(l.Limit)
		if err != nil {
			return Policy{}, err
		}
		policy = lowered
	}
	faults.AddUnlessBetween("cost", l.Cost, 1, policy.MaxCost())
	return policy, faults.Err()
}

// DefaultRoot is the place of the level whose subject is the root where nobody
// names one: the last level that is not shared, or the last one if all are. Levels
// run from the most specific on, so that all others belong to the last. A shared
// level spans roots; as the root it would make one counter of those that the others
// have under each. Of no levels it is -1.
func DefaultRoot(levels []Level) int {
	for i, level := range slices.Backward(levels) {
		if !level.Shared {
			return i
		}
	}
	return len(levels) - 1
}

// LayeredRequestSpec is what [NewLayeredRequest] checks.
type LayeredRequestSpec struct {
	// Root is whom the levels belong to, such as the tenant or the organisation.
	// It need not be a level's subject. One whose subject it is shares its counter
	// with evaluations of the subject by itself; all other levels' counters, unless
	// they are shared, are theirs under this root alone.
	Root pseudonym.Digest
	// Levels are 1 to [MaxLevels], the most specific first, each with a name and a
	// counter of its own.
	Levels []Level
}

// LayeredRequest asks whether something may be spent at several levels. The zero
// LayeredRequest is invalid; [NewLayeredRequest] makes valid ones.
type LayeredRequest struct {
	root   pseudonym.Digest
	levels []Level // never changed
}

// NewLayeredRequest returns a valid request, or the [Faults] of spec. Whether the
// policies exist and bear costs and limits is the adapter's to say.
func NewLayeredRequest(spec LayeredRequestSpec) (LayeredRequest, error) {
	var faults Faults
	if spec.Root.IsZero() {
		faults.Add("root", "must be given")
	}
	if n := len(spec.Levels); n < 1 || n > MaxLevels {
		faults.Add("levels", "are %d, must be 1 to %d", n, MaxLevels)
		return LayeredRequest{}, faults.Err()
	}
	request := LayeredRequest{root: spec.Root, levels: slices.Clone(spec.Levels)}
	for i := range request.levels {
		for _, fault := range request.check(i) {
			faults.Add(fmt.Sprintf("levels[%d].%s", i, fault.Field), "%s", fault.Problem)
		}
	}
	if err := faults.Err(); err != nil {
		return LayeredRequest{}, err
	}
	return request, nil
}

// check finds the faults of one level, those that it has beside the earlier ones
// included.
func (r LayeredRequest) check(place int) (faults Faults) {
	level, earlier := r.levels[place], r.levels[:place]
	faults.addUnlessIdentifier("name", level.Name)
	faults.addUnlessIdentifier("policyId", level.PolicyID)
	if level.Subject.IsZero() {
		faults.Add("subject", "must be given")
	}
	faults.AddUnlessBetween("cost", level.Cost, 1, MaxQuota)
	faults.AddUnlessBetween("limit", level.Limit, 0, MaxQuota)
	if slices.ContainsFunc(earlier, func(other Level) bool { return other.Name == level.Name }) {
		faults.Add("name", "is given twice")
	}
	same := slices.IndexFunc(earlier, func(other Level) bool { return r.counter(other) == r.counter(level) })
	if same >= 0 {
		faults.Add("subject", "is that of level %s, under the same policy", earlier[same].Name)
	}
	return faults
}

// IsZero reports whether r is the zero, invalid LayeredRequest.
func (r LayeredRequest) IsZero() bool { return len(r.levels) == 0 }

// Root is whom the levels belong to.
func (r LayeredRequest) Root() pseudonym.Digest { return r.root }

// Len is the number of levels.
func (r LayeredRequest) Len() int { return len(r.levels) }

// Levels are the levels in their order, the most specific first.
func (r LayeredRequest) Levels() iter.Seq2[int, Level] { return slices.All(r.levels) }

// Scope is the subject under whom a level is counted: the root, or the level's own
// subject if it is shared. An evaluation of a subject by itself is counted under
// that subject, so levels with the same policy, subject and scope are one counter.
func (r LayeredRequest) Scope(level Level) pseudonym.Digest {
	if level.Shared {
		return level.Subject
	}
	return r.root
}

type counter struct {
	policyID       string
	scope, subject pseudonym.Digest
}

func (r LayeredRequest) counter(level Level) counter {
	return counter{level.PolicyID, r.Scope(level), level.Subject}
}

package ratelimit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/weir/shared-contract/pseudonym"
)

// Catalog is a handle on the policies in force. Everything that needs policies
// holds the same Catalog, so enforcement, headers and "no such policy" never
// disagree. It is safe for concurrent use. The zero Catalog holds no policies.
type Catalog struct {
	current atomic.Pointer[Snapshot]
}

// NewCatalog returns a catalog that holds snapshot.
func NewCatalog(snapshot *Snapshot) *Catalog {
	c := new(Catalog)
	c.Replace(snapshot)
	return c
}

// Current is the snapshot in force. Who needs several answers that fit
// together asks one snapshot.
func (c *Catalog) Current() *Snapshot {
	if snapshot := c.current.Load(); snapshot != nil {
		return snapshot
	}
	return &none
}

var none Snapshot // immutable, as every snapshot

// Replace puts snapshot in force for every evaluation that starts from now on.
// Nil means no policies.
func (c *Catalog) Replace(snapshot *Snapshot) {
	c.current.Store(snapshot)
}

// Snapshot is an immutable set of policies, and of the subjects that they give
// another quota.
type Snapshot struct {
	ordered   []Policy
	byID      map[string]Policy
	overrides map[overridden]Policy
}

// Override gives a subject another quota under a policy, higher or lower.
type Override struct {
	PolicyID string
	Subject  pseudonym.Digest
	// Limit is the quota: a limit or capacity that the policy could have. Of a token
	// bucket it is the capacity. The refill stays the policy's, so that it changes
	// how much can be spent at once, and not how much in the long run.
	Limit int64
}

type overridden struct {
	policyID string
	subject  pseudonym.Digest
}

// NewSnapshot collects policies, each with an ID of its own.
func NewSnapshot(policies ...Policy) (*Snapshot, error) {
	s := &Snapshot{ordered: slices.Clone(policies), byID: make(map[string]Policy, len(policies))}
	for _, policy := range policies {
		if policy.IsZero() {
			return nil, fmt.Errorf("a policy was not made by NewPolicy")
		}
		if _, taken := s.byID[policy.ID()]; taken {
			return nil, fmt.Errorf("policy %s is given twice", policy.ID())
		}
		s.byID[policy.ID()] = policy
	}
	slices.SortFunc(s.ordered, func(a, b Policy) int { return strings.Compare(a.ID(), b.ID()) })
	return s, nil
}

// WithOverrides is s with overrides instead of those it had, at most one for each
// policy and subject, or their [Faults] with fields such as "overrides[2].limit".
func (s *Snapshot) WithOverrides(overrides ...Override) (*Snapshot, error) {
	next := &Snapshot{ordered: s.ordered, byID: s.byID, overrides: make(map[overridden]Policy, len(overrides))}
	var faults Faults
	for i, override := range overrides {
		field := func(name string) string { return fmt.Sprintf("overrides[%d].%s", i, name) }
		policy, known := s.byID[override.PolicyID]
		if !known {
			faults.Add(field("policy"), "there is no policy %q", override.PolicyID)
			continue
		}
		if override.Subject.IsZero() {
			faults.Add(field("subject"), "must be given")
		}
		of := overridden{override.PolicyID, override.Subject}
		if _, taken := next.overrides[of]; taken {
			faults.Add(field("subject"), "has an override of policy %s already", override.PolicyID)
		}
		changed, err := policy.WithQuota(override.Limit)
		if problems, ok := errors.AsType[Faults](err); ok {
			faults.Add(field("limit"), "%s", problems[0].Problem)
		}
		next.overrides[of] = changed
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return next, nil
}

// PolicyFor finds what a policy, by its ID, is to a subject: the policy, with the
// quota of an override if there is one.
func (s *Snapshot) PolicyFor(id string, subject pseudonym.Digest) (Policy, bool) {
	if len(s.overrides) > 0 {
		if policy, ok := s.overrides[overridden{id, subject}]; ok {
			return policy, true
		}
	}
	return s.Policy(id)
}

// Policy finds a policy by its ID.
func (s *Snapshot) Policy(id string) (Policy, bool) {
	policy, ok := s.byID[id]
	return policy, ok
}

// Policies lists all policies by ascending ID.
func (s *Snapshot) Policies() []Policy { return slices.Clone(s.ordered) }

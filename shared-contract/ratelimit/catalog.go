package ratelimit

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// Snapshot is an immutable set of policies.
type Snapshot struct {
	ordered []Policy
	byID    map[string]Policy
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

// Policy finds a policy by its ID.
func (s *Snapshot) Policy(id string) (Policy, bool) {
	policy, ok := s.byID[id]
	return policy, ok
}

// Policies lists all policies by ascending ID.
func (s *Snapshot) Policies() []Policy { return slices.Clone(s.ordered) }

package ratelimit_test

import (
	"slices"
	"testing"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// named is a valid policy: 100 units, of which one request may spend 10.
func named(t *testing.T, id string) ratelimit.Policy {
	t.Helper()
	spec := valid()
	spec.ID = id
	policy, err := ratelimit.NewPolicy(spec)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func snapshot(t *testing.T, policies ...ratelimit.Policy) *ratelimit.Snapshot {
	t.Helper()
	s, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ensure that a catalog swaps whole snapshots, each immutable.
func TestCatalog(t *testing.T) {
	given := []ratelimit.Policy{named(t, "b"), named(t, "a")}
	first := snapshot(t, given...)
	given[0] = named(t, "x")
	first.Policies()[0] = named(t, "y")
	if ids := ids(first); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("snapshot holds %q", ids)
	}
	catalog := ratelimit.NewCatalog(first)
	held := catalog.Current()
	catalog.Replace(nil)
	if _, known := catalog.Current().Policy("a"); known || len(catalog.Current().Policies()) != 0 {
		t.Error("the empty snapshot knows a policy")
	}
	if _, known := held.Policy("a"); !known {
		t.Error("a snapshot that is held lost a policy")
	}
	if _, err := ratelimit.NewSnapshot(named(t, "a"), named(t, "a")); err == nil {
		t.Error("a policy was accepted twice")
	}
	if _, err := ratelimit.NewSnapshot(ratelimit.Policy{}); err == nil {
		t.Error("the zero policy was accepted")
	}
}

func ids(s *ratelimit.Snapshot) (ids []string) {
	for _, policy := range s.Policies() {
		ids = append(ids, policy.ID())
	}
	return ids
}

// Ensure that an override is for its policy and subject only, and that snapshots
// with and without it do not change each other.
func TestOverrides(t *testing.T) {
	without := snapshot(t, named(t, "a"), named(t, "b"))
	given := []ratelimit.Override{
		{PolicyID: "a", Subject: pseudonym.Digest{1}, Limit: 200},
		{PolicyID: "a", Subject: pseudonym.Digest{2}, Limit: 5},
	}
	with, err := without.WithOverrides(given...)
	if err != nil {
		t.Fatal(err)
	}
	given[0].Limit = 300
	replaced, err := with.WithOverrides(ratelimit.Override{PolicyID: "b", Subject: pseudonym.Digest{1}, Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		snapshot       *ratelimit.Snapshot
		policy         string
		subject        byte
		quota, maxCost int64
	}{
		{without, "a", 1, 100, 10},
		{with, "a", 1, 200, 10},
		{with, "a", 2, 5, 5},
		{with, "a", 3, 100, 10},
		{with, "b", 1, 100, 10},
		{replaced, "a", 1, 100, 10},
		{replaced, "b", 1, 7, 7},
	} {
		policy, known := test.snapshot.PolicyFor(test.policy, pseudonym.Digest{test.subject})
		if !known || policy.ID() != test.policy || policy.Revision() != 1 {
			t.Fatalf("policy %s is %+v for subject %d", test.policy, policy, test.subject)
		}
		if policy.Quota() != test.quota || policy.MaxCost() != test.maxCost {
			t.Errorf("policy %s gives subject %d %d units and %d at once, must be %d and %d",
				test.policy, test.subject, policy.Quota(), policy.MaxCost(), test.quota, test.maxCost)
		}
	}
	if _, known := with.PolicyFor("x", pseudonym.Digest{1}); known {
		t.Error("a policy that there is not was found")
	}
	if !slices.Equal(with.Policies(), without.Policies()) {
		t.Error("overrides have changed the policies")
	}
	if policy, _ := with.Policy("a"); policy.Quota() != 100 {
		t.Error("overrides have changed the policy of everybody")
	}
}

// Ensure that every fault of overrides is named with its place.
func TestOverrideFaults(t *testing.T) {
	valid := ratelimit.Override{PolicyID: "a", Subject: pseudonym.Digest{1}, Limit: 5}
	with := func(edit func(*ratelimit.Override)) ratelimit.Override {
		override := valid
		edit(&override)
		return override
	}
	got, err := snapshot(t, named(t, "a"), named(t, "b")).WithOverrides(
		valid,
		with(func(o *ratelimit.Override) { o.PolicyID = "x" }),
		with(func(o *ratelimit.Override) { o.Subject = pseudonym.Digest{} }),
		with(func(o *ratelimit.Override) { o.PolicyID = "b" }),
		with(func(o *ratelimit.Override) { o.Limit = 9 }),
		with(func(o *ratelimit.Override) { o.Subject, o.Limit = pseudonym.Digest{2}, 0 }),
		with(func(o *ratelimit.Override) { o.Subject, o.Limit = pseudonym.Digest{3}, ratelimit.MaxQuota+1 }),
	)
	want := []string{"overrides[1].policy", "overrides[2].subject", "overrides[4].subject", "overrides[5].limit", "overrides[6].limit"}
	if fields := fields(t, err); !slices.Equal(fields, want) || got != nil {
		t.Errorf("fields at fault are %q, must be %q (%v)", fields, want, err)
	}
}

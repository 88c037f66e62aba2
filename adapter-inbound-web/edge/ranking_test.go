package edge

import (
	"testing"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

func snapshot(t *testing.T, parameters map[string]ratelimit.Parameters) *ratelimit.Snapshot {
	t.Helper()
	var policies []ratelimit.Policy
	for id, given := range parameters {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID: id, Revision: 1, Parameters: given, MaxCost: given.Quota(), FailurePolicy: ratelimit.FailClosed,
		})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	s, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ensure that each row is dearer than those above it, by exact numbers, in
// whatever order the two are met.
func TestRankingOrdersCharges(t *testing.T) {
	const most = ratelimit.MaxQuota
	policies := snapshot(t, map[string]ratelimit.Parameters{
		"most":        ratelimit.FixedWindow{Limit: most, Window: time.Second},
		"nearly-most": ratelimit.FixedWindow{Limit: most - 1, Window: time.Second},
		"loose":       ratelimit.FixedWindow{Limit: 100_000, Window: time.Minute},
		"bucket":      ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: time.Second},
		"window":      ratelimit.FixedWindow{Limit: 10, Window: time.Minute},
		"wide":        ratelimit.FixedWindow{Limit: 20, Window: time.Minute},
		"tight":       ratelimit.FixedWindow{Limit: 5, Window: time.Minute},
	})
	rows := []charge{
		{},
		{kind: exempt, explicit: true},
		{kind: chargeable, policyID: "most", cost: 1},
		{kind: chargeable, policyID: "nearly-most", cost: 1},
		{kind: chargeable, policyID: "loose", cost: 1},
		{kind: chargeable, policyID: "loose", cost: 2},
		{kind: chargeable, policyID: "bucket", cost: 1, explicit: true},
		{kind: chargeable, policyID: "window", cost: 1},
		{kind: chargeable, policyID: "window", cost: 1, explicit: true},
		{kind: chargeable, policyID: "wide", cost: 2},
		{kind: chargeable, policyID: "tight", cost: 1},
		{kind: chargeable, policyID: "most", cost: most - 2},
		{kind: chargeable, policyID: "nearly-most", cost: most - 2},
		{kind: chargeable, policyID: "most", cost: most - 1},
		{kind: chargeable, policyID: "unknown", cost: 1},
		{kind: reject},
	}
	for i := range rows {
		rows[i].number = i
	}
	ranking := newRanking(rows[1:], policies, nil)
	for i, cheap := range rows {
		for _, dear := range rows[i+1:] {
			if got := ranking.dearer(cheap, dear); got != dear {
				t.Errorf("%+v is as dear as %+v", cheap, dear)
			}
			if got := ranking.dearer(dear, cheap); got != dear {
				t.Errorf("%+v is dearer than %+v", cheap, dear)
			}
		}
	}
}

// Ensure that of two equally dear charges the first is taken, and that without
// policies all charges are equally dear.
func TestRankingOfEqualCharges(t *testing.T) {
	one := charge{number: 1, kind: chargeable, policyID: "a", cost: 1}
	other := charge{number: 2, kind: chargeable, policyID: "b", cost: 2}
	if got := newRanking([]charge{one, other}, nil, nil).dearer(one, other); got != one {
		t.Errorf("got %+v, want the first", got)
	}
	twins := snapshot(t, map[string]ratelimit.Parameters{
		"a": ratelimit.FixedWindow{Limit: 7, Window: time.Second},
		"b": ratelimit.FixedWindow{Limit: 7, Window: time.Second},
	})
	other.cost = 1
	ranking := newRanking([]charge{one, other}, twins, nil)
	if got := ranking.dearer(other, one); got != other {
		t.Errorf("got %+v, want the first", got)
	}
}

// Ensure that a charge that layers stand in for is as dear as under the dearest of
// their policies, and not as under its own; and as under its own where they do not.
func TestRankingOfLayeredCharges(t *testing.T) {
	policies := snapshot(t, map[string]ratelimit.Parameters{
		"loose":  ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
		"middle": ratelimit.FixedWindow{Limit: 10, Window: time.Minute},
		"tight":  ratelimit.FixedWindow{Limit: 5, Window: time.Minute},
	})
	middle := charge{number: 1, kind: chargeable, policyID: "middle", cost: 1}
	tests := map[string]struct {
		layered charge
		levels  []string
		dearer  bool
	}{
		"a tight level":                 {charge{policyID: "loose", layered: true}, []string{"loose", "tight"}, true},
		"a tight policy in their place": {charge{policyID: "tight", layered: true}, []string{"loose"}, false},
		"no identities, loose":          {charge{policyID: "loose", layered: true}, nil, false},
		"no identities, tight":          {charge{policyID: "tight", layered: true}, nil, true},
		"all loose":                     {charge{policyID: "loose", layered: true}, []string{"loose"}, false},
		"no layers":                     {charge{policyID: "loose"}, []string{"tight"}, false},
		"an unknown level":              {charge{policyID: "loose", layered: true}, []string{"unknown"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.layered.number, test.layered.kind, test.layered.cost = 2, chargeable, 1
			ranking := newRanking([]charge{middle, test.layered}, policies, test.levels)
			if got := ranking.dearer(middle, test.layered).number == test.layered.number; got != test.dearer {
				t.Errorf("dearer: %t, want %t", got, test.dearer)
			}
		})
	}
}

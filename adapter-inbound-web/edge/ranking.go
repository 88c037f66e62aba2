package edge

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// ranking orders the charges of all routes by how dear they are under the
// policies of one snapshot. When one request can be read in several ways, the
// dearest reading counts, so no spelling of a path is cheaper than another. It
// is immutable.
//
// A rejection is dearer than any charge, a charge is dearer than an exemption.
// Costs are units of their policy, and a unit of a strict policy is dearer than
// one of a generous policy. So charges compare by
//
//  1. the share of the policy's quota that the request takes,
//  2. the time that it takes to earn that share back,
//  3. the cost,
//  4. whether a route says so, which is preferred to the default.
//
// A policy that is not in the snapshot is dearer than all that are, since it
// lets nobody pass. Overrides do not count: charges are ranked once for all subjects,
// so for one with a quota of its own another reading may have been dearer.
type ranking struct {
	ranks []int // by the number of the charge; equally dear charges have one rank
}

// rankings are those of one snapshot. What layered charges cost depends on who asks.
type rankings struct {
	policies *ratelimit.Snapshot
	// identified is for requests with the identities of all levels, for which a
	// layered charge is as dear as at the dearest level.
	identified *ranking
	// anonymous is for all others, which are charged under the default policy.
	anonymous *ranking
}

// newRankings ranks charges. The levels are the IDs of the policies that layered
// charges come under.
func newRankings(charges []charge, policies *ratelimit.Snapshot, levels []string) *rankings {
	return &rankings{
		policies:   policies,
		identified: newRanking(charges, policies, levels),
		anonymous:  newRanking(charges, policies, nil),
	}
}

// of is the ranking for a request that lacks the identity of a level for the reason
// unidentified, or lacks none if that is nil.
func (r *rankings) of(unidentified error) *ranking {
	if unidentified != nil {
		return r.anonymous
	}
	return r.identified
}

// newRanking ranks charges, which have the numbers 1, 2 and so on. Without
// policies, which is to say in front of a local limiter, all that is charged is
// equally dear. Without levels, layered charges come under their own policy.
func newRanking(charges []charge, policies *ratelimit.Snapshot, levels []string) *ranking {
	prices := make([]price, len(charges))
	for i, c := range charges {
		prices[i] = priceOf(c, policies)
		if c.layered && len(levels) > 0 {
			prices[i] = dearestOf(c, policies, levels)
		}
	}
	slices.SortFunc(prices, price.compare)
	r := &ranking{ranks: make([]int, len(charges)+1)}
	rank := 0
	for i, p := range prices {
		if i == 0 || p.compare(prices[i-1]) != 0 {
			rank++
		}
		r.ranks[p.charge.number] = rank
	}
	return r
}

// dearer returns the charge that costs the client more; of two equal ones, one.
func (r *ranking) dearer(one, other charge) charge {
	if r.ranks[other.number] > r.ranks[one.number] {
		one, other = other, one
	}
	if one.layered && other.kind == chargeable {
		one.closed = one.closed || other.closed || !other.layered
	}
	return one
}

// price is all that makes a charge dear.
type price struct {
	charge charge
	banned bool // its policy does not exist
	quota  uint64
	window time.Duration
}

// dearestOf is the price of c under the dearest policy of levels.
func dearestOf(c charge, policies *ratelimit.Snapshot, levels []string) price {
	var dearest price
	for _, level := range levels {
		c.policyID = level
		if p := priceOf(c, policies); p.compare(dearest) > 0 {
			dearest = p
		}
	}
	return dearest
}

func priceOf(c charge, policies *ratelimit.Snapshot) price {
	p := price{charge: c}
	if c.kind != chargeable || policies == nil {
		p.charge.cost = 0
		return p
	}
	policy, known := policies.Policy(c.policyID)
	if !known {
		p.banned = true
		return p
	}
	p.quota, p.window = uint64(policy.Quota()), policy.Window()
	return p
}

func (p price) compare(other price) int {
	return cmp.Or(
		cmp.Compare(p.charge.kind, other.charge.kind),
		compareBool(p.banned, other.banned),
		p.compareShares(other),
		// Of equal shares, the one of the longer window is earned back later.
		cmp.Compare(p.window, other.window),
		cmp.Compare(p.charge.cost, other.charge.cost),
		compareBool(p.charge.explicit, other.charge.explicit),
	)
}

// compareShares compares cost ÷ quota exactly, by multiplying crosswise. Both
// factors may have fifty bits.
func (p price) compareShares(other price) int {
	high, low := bits.Mul64(uint64(p.charge.cost), other.quota)
	otherHigh, otherLow := bits.Mul64(uint64(other.charge.cost), p.quota)
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

func compareBool(one, other bool) int {
	switch {
	case one == other:
		return 0
	case one:
		return 1
	default:
		return -1
	}
}

package programmodel

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/weir/shared-contract/ratelimittest"
)

// Member is a member of a sorted set.
type Member struct {
	Member string  `json:"member"`
	Score  float64 `json:"score"`
}

// compare is the order of a server.
func (m Member) compare(other Member) int {
	return cmp.Or(cmp.Compare(m.Score, other.Score), cmp.Compare(m.Member, other.Member))
}

// emptyTotal is the total of an empty log.
const emptyTotal = 1_000_000_000_000_000

// log is a state in a sorted set: a member that is the identity, and one for each
// admission.
type log struct{}

// admission is what a member of a log says.
type admission struct{ total, units, at int64 }

func admissionOf(m Member) (admission, bool) {
	first, second, _ := strings.Cut(m.Member, ":")
	total, ok := parse(first, 2*emptyTotal-1)
	if !ok || total < emptyTotal || len(first) != len(strconv.Itoa(emptyTotal)) {
		return admission{}, false
	}
	units, ok := parse(second, total-emptyTotal)
	ok = ok && units >= 1 && m.Score == math.Trunc(m.Score) && m.Score >= 1 && m.Score <= exact
	return admission{total, units, int64(m.Score)}, ok
}

// read looks where the program always does: at the identity, at the newest member
// and at the oldest that still counts. What the others have spent is the difference
// of their totals, and what is no admission among them is passed over.
func (log) read(found level, now int64) (record, bool) {
	members := found.key.SortedSet
	if len(members) == 0 {
		return record{}, found.key.Other == "" && len(found.key.Hash) == 0
	}
	newest, ok := admissionOf(members[len(members)-1])
	if !ok || !slices.Contains(members, Member{found.identity, 0}) {
		return record{}, false
	}
	stored := record{State: ratelimittest.State{Seen: true, LastObserved: newest.at}, total: newest.total}
	if newest.at-found.policy.MaxClockRegression().Milliseconds() > now {
		return stored, true // by an unsafe clock nothing more is read
	}
	var used, total int64
	for _, member := range afterwards(members, found.opened(max(now, newest.at))) {
		spent, ok := admissionOf(member)
		if stored.Log == nil {
			if !ok {
				return record{}, false
			}
			total = spent.total - spent.units
		}
		if ok {
			units := spent.total - total
			stored.Log = append(stored.Log, ratelimittest.Spent{At: spent.at, Units: units})
			used, total = used+units, spent.total
		}
	}
	return stored, stored.Log == nil || used >= 1
}

// opened is the last moment that the window which ends at now does not cover.
func (l level) opened(now int64) int64 { return max(0, now-l.policy.Window().Milliseconds()) }

// afterwards are the members with a later score than moment.
func afterwards(members []Member, moment int64) []Member {
	first := slices.IndexFunc(members, func(m Member) bool { return m.Score > float64(moment) })
	if first < 0 {
		return nil
	}
	return members[first:]
}

func (log) write(admitted level, after record, verdict ratelimittest.Verdict) Key {
	total, spent := int64(emptyTotal), after.Log[len(after.Log)-1]
	if len(after.Log) > 1 {
		total = admitted.stored.total
	}
	name := strconv.FormatInt(total+spent.Units, 10) + ":" + strconv.FormatInt(spent.Units, 10)
	opened := float64(admitted.opened(verdict.Effective))
	members := []Member{{admitted.identity, 0}, {name, float64(spent.At)}}
	for _, m := range admitted.key.SortedSet {
		left := m.Score > 0 && m.Score <= opened
		if !left && m.Member != admitted.identity && m.Member != name {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, Member.compare)
	ttl := verdict.Effective + (admitted.policy.Window() + admitted.policy.CleanupGrace()).Milliseconds() - verdict.Now
	return Key{SortedSet: members, TTLMillis: ttl}
}

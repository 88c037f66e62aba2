package programmodel_test

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
)

// emptyTotal is the total of an empty log.
const emptyTotal = 1_000_000_000_000_000

// lastOfLog is the time of the last admission of a healthy log.
func lastOfLog(log []programmodel.Member) int64 {
	if len(log) == 0 {
		return 0
	}
	return int64(log[len(log)-1].Score)
}

// shiftedLog is a healthy log with all admissions so much later. What would have
// been before the epoch is forgotten.
func shiftedLog(log []programmodel.Member, by int64) []programmodel.Member {
	var shifted []programmodel.Member
	for place, m := range log {
		if place > 0 {
			m.Score += float64(by)
		}
		if place == 0 || m.Score >= 1 {
			shifted = append(shifted, m)
		}
	}
	return shifted
}

// logOf is a log of units in up to so many admissions, that were all made within
// reach of last, when the last one was.
func (s *subject) logOf(units int64, admissions int, last, reach int64) []programmodel.Member {
	total := int64(emptyTotal)
	if s.random.IntN(8) == 0 {
		total += between(s.random, 0, emptyTotal-1-units) // up to the largest
	}
	times := []int64{last}
	for range min(int64(admissions), units) - 1 {
		times = append(times, last-min(last-1, between(s.random, 0, max(0, reach))))
	}
	slices.Sort(times)
	log := []programmodel.Member{{Member: fmt.Sprintf("sl1:%d:%d", s.policy["revision"], s.policy["window"])}}
	for i, at := range times {
		cost := units
		if later := int64(len(times) - 1 - i); later > 0 {
			cost = 1 + s.random.Int64N(1+2*(units-later-1)/(later+1))
			cost = min(cost, units-later)
		}
		total, units = total+cost, units-cost
		log = append(log, admission(total, cost, at))
	}
	return log
}

func admission(total, units, at int64) programmodel.Member {
	return programmodel.Member{Member: strconv.FormatInt(total, 10) + ":" + strconv.FormatInt(units, 10), Score: float64(at)}
}

// admissions is how many a log may have. Few logs are so long that servers keep
// them in another form.
func (s *subject) admissions() int {
	if s.random.IntN(40) == 0 {
		return 100 + s.random.IntN(100)
	}
	return 1 + s.random.IntN(10)
}

func (s *subject) otherUsageOfLog(_ int64, next *step) {
	limit := s.policy["limit"]
	marks := []int64{limit - next.cost, limit, 1 + s.random.Int64N(limit), 1 + s.random.Int64N(2*limit)}
	units := max(1, marks[s.random.IntN(len(marks))]+s.random.Int64N(3)-1)
	reach := s.period()
	if s.random.IntN(3) == 0 {
		reach += reach / 2
	}
	next.before.log = s.logOf(units, s.admissions(), lastOfLog(next.before.log), reach)
}

func (s *subject) usageAtEdgeOfLog(now int64, next *step) {
	last := now + s.random.Int64N(s.policy["regression"]+1)
	units := max(1, s.policy["limit"]-next.cost+s.random.Int64N(2))
	next.before = s.shift(next.before, last)
	next.before.log = s.logOf(units, s.admissions(), last, s.period()-1)
}

// momentsAtEdgeOfLog makes the oldest admissions such as have just left, or are
// about to leave.
func (s *subject) momentsAtEdgeOfLog(now int64, next *step) {
	last := now + s.random.Int64N(s.policy["regression"]+1)
	next.before = s.shift(next.before, last)
	next.before.log = s.logOf(max(2, s.policy["limit"]), s.admissions(), last, s.period()-1)
	log := next.before.log
	edge := float64(min(last, last-s.period()+s.random.Int64N(3)-1))
	for i := range 1 + s.random.IntN(len(log)-1) {
		log[1+i].Score = edge
	}
	for i := range log[1:] {
		log[1+i].Score = max(log[1+i].Score, edge)
	}
	log[len(log)-1].Score = float64(last)
}

// brokenMembers are no admissions, or strange ones.
var brokenMembers = []string{
	"", "many", ":", "1:1", "1000000000000001", "1000000000000001:", "1000000000000001:0", "1000000000000001:2",
	"1000000000000001:1:1", "1000000000000001:1 ", " 1000000000000001:1", "1000000000000001:-1", "1000000000000001:1.0", "1000000000000001:01",
	"1999999999999999:999999999999999", "1999999999999999:1000000000000000", "1999999999999999:1", "2000000000000000:1",
	"0999999999999999:1", "1000000000000000:1", "1000000000000000:0", "100000000000001:1", "10000000000000001:1",
	"1000000000005000:3", "1000000000000001:18446744073709551617", "1000000000000001:\x00",
}

// wellFormed is how an admission looks.
var wellFormed = regexp.MustCompile(`^1\d{15}:\d+$`)

// damageOfLog damages only what the program is sure to look at: whose the log is,
// the newest admission, and the oldest that counts.
func (s *subject) damageOfLog(now int64, next *step) {
	damaged := next.before
	log := slices.Clone(damaged.log)
	switch s.random.IntN(8) {
	case 0:
		damaged.log = log[1:]
	case 1:
		damaged.log = log[:1]
	case 2:
		log[0].Member += "0"
		damaged.log = log
	case 3:
		log[0].Score = []float64{1, -1, 0.5}[s.random.IntN(3)]
		damaged.log = log
	default:
		if damaged.log = s.brokenLog(log, now); damaged.log == nil {
			return
		}
	}
	s.spoil(next, damaged)
}

// brokenLog damages the newest admission, or the oldest that counts. It returns nil
// if the damaged one would be neither any more.
func (s *subject) brokenLog(log []programmodel.Member, now int64) []programmodel.Member {
	opened := float64(max(now, lastOfLog(log)) - s.period())
	oldest := slices.IndexFunc(log, func(m programmodel.Member) bool { return m.Score > max(0, opened) })
	newest := len(log) - 1
	place := newest
	if s.random.IntN(2) == 0 && oldest > 0 {
		place = oldest
	}
	broken := log[place]
	switch s.random.IntN(4) {
	case 0:
		if broken.Score -= 0.5; place == newest {
			broken.Score++
		}
	case 1:
		broken.Score = []float64{0, -1, 1 << 53, math.Inf(1)}[s.random.IntN(4)]
	default:
		broken.Member = brokenMembers[s.random.IntN(len(brokenMembers))]
	}
	named := func(m programmodel.Member) bool { return m.Member == broken.Member }
	if broken.Member != log[place].Member && slices.ContainsFunc(log, named) {
		return nil
	}
	if place == newest && oldest < newest && wellFormed.MatchString(broken.Member) && broken.Member < log[place-1].Member {
		return nil // its total would belie the others
	}
	log[place] = broken
	slices.SortFunc(log, func(a, b programmodel.Member) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Member, b.Member))
	})
	if moved := slices.Index(log, broken); moved != place {
		return nil
	}
	return log
}

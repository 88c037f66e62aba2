package programmodel_test

import (
	"fmt"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/lua"
)

// findings are what a comparison has seen.
type findings struct {
	replies    int // one for each level
	statuses   map[reply.Status]int
	clamped    int    // replies by a clock that had run back
	moved      int    // admissions that moved the expiry of a key
	kept       int    // admissions that did not
	late       int    // expiries that were moved a little further than they should
	expired    int    // keys that were gone when their state was to be seen, rightly
	sets       sets   // calls of several levels
	difference string // the first; the comparison ends with it
}

// sets counts calls of several levels.
type sets struct {
	all       int
	charged   int
	refused   int // by one level, while all others admit
	disagreed int // several levels do not admit, some do
	malformed int // as a whole
}

func (f *findings) String() string {
	return fmt.Sprintf("%d replies %v, %d by a clock that had run back; %d moved the expiry (%d of them late), %d kept it; "+
		"%d keys had expired before they were seen; sets: %+v", f.replies, f.statuses, f.clamped, f.moved, f.late, f.kept, f.expired, f.sets)
}

func (f *findings) count(s seen, x expectation) {
	admitted := 0
	for _, answer := range s.answers {
		f.replies++
		f.statuses[answer.Status]++
		if answer.EffectiveNow > answer.ServerNow {
			f.clamped++
		}
		if answer.Status == reply.Allowed {
			admitted++
		}
	}
	f.sets.count(len(x.Keys), len(s.answers), admitted)
	if admitted < len(s.answers) {
		return
	}
	for i, after := range s.after {
		switch {
		case !x.charged[i]:
		case after.absent():
			f.expired++
		case !x.moves[i]:
			f.kept++
		default:
			f.moved++
			if after.expiresAt > x.after[i].expiresAt {
				f.late++
			}
		}
	}
}

func (s *sets) count(keys, answers, admitted int) {
	if keys < 2 {
		return
	}
	s.all++
	switch {
	case answers == 1:
		s.malformed++
	case admitted == answers:
		s.charged++
	case admitted == answers-1:
		s.refused++
	case admitted > 0:
		s.disagreed++
	}
}

// wanted is something that a comparison must see.
type wanted struct {
	name  string
	count int
	of    int
	share float64
}

// poor names what was seen so rarely that the comparison of program says little of
// it.
func (f *findings) poor(program string) []string {
	list := []wanted{
		{"ALLOWED", f.statuses[reply.Allowed], f.replies, 0.2},
		{"DENIED", f.statuses[reply.Denied], f.replies, 0.1},
		{"CLOCK_UNSAFE", f.statuses[reply.ClockUnsafe], f.replies, 0.02},
		{"STATE_INCOMPATIBLE", f.statuses[reply.StateIncompatible], f.replies, 0.02},
		{"INVALID", f.statuses[reply.Invalid], f.replies, 0.02},
		{"a clock that ran back", f.clamped, f.replies, 0.02},
		{"an expiry that moved, to the millisecond", f.moved - f.late, f.replies, 0.05},
	}
	if program != lua.SlidingLog().Name { // each admission to a log moves its expiry
		list = append(list, wanted{"an expiry that did not move", f.kept, f.replies, 0.02})
	}
	if program == programmodel.LayeredProgram {
		list = append(list,
			wanted{"a set that is charged", f.sets.charged, f.sets.all, 0.1},
			wanted{"a set that one level refuses", f.sets.refused, f.sets.all, 0.1},
			wanted{"a set whose levels disagree", f.sets.disagreed, f.sets.all, 0.05},
			wanted{"a set that is malformed as a whole", f.sets.malformed, f.sets.all, 0.02},
		)
	}
	var poor []string
	for _, w := range list {
		if w.of == 0 || float64(w.count) < w.share*float64(w.of) {
			poor = append(poor, w.name)
		}
	}
	return poor
}

// Ensure that a comparison which sees decisions only, or next to nothing of
// something, is not taken for one.
func TestPoorFindings(t *testing.T) {
	rich := findings{
		replies: 1000, clamped: 20, moved: 60, late: 10, kept: 20,
		statuses: map[reply.Status]int{
			reply.Allowed: 840, reply.Denied: 100, reply.ClockUnsafe: 20, reply.StateIncompatible: 20, reply.Invalid: 20,
		},
		sets: sets{all: 100, charged: 10, refused: 10, disagreed: 5, malformed: 2},
	}
	layered, log := programmodel.LayeredProgram, lua.SlidingLog().Name
	for _, program := range lua.Programs() {
		if poor := rich.poor(program.Name); len(poor) > 0 {
			t.Errorf("%s: poor in %q, must not be", program.Name, poor)
		}
	}
	for name, spoil := range map[string]func(f *findings){
		"no denials":           func(f *findings) { f.statuses = map[reply.Status]int{reply.Allowed: 1000} },
		"a clock that is safe": func(f *findings) { f.clamped = 19 },
		"nothing moved":        func(f *findings) { f.late = 11 },
		"nothing kept":         func(f *findings) { f.kept = 19 },
		"no sets":              func(f *findings) { f.sets = sets{} },
		"hardly a charge":      func(f *findings) { f.sets.charged = 9 },
		"hardly a refusal":     func(f *findings) { f.sets.refused = 9 },
		"levels that agree":    func(f *findings) { f.sets.disagreed = 4 },
		"well-formed sets":     func(f *findings) { f.sets.malformed = 1 },
	} {
		spoiled := rich
		if spoil(&spoiled); len(spoiled.poor(layered)) == 0 {
			t.Errorf("%s: not seen to be poor", name)
		}
	}
	rich.kept = 0
	if poor := rich.poor(log); len(poor) > 0 {
		t.Errorf("%s: poor in %q, must not be", log, poor)
	}
}

package programmodel_test

import (
	"fmt"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// findings are what a comparison has seen.
type findings struct {
	replies    int
	statuses   map[reply.Status]int
	clamped    int    // replies by a clock that had run back
	moved      int    // admissions that moved the expiry of a key
	kept       int    // admissions that did not
	late       int    // expiries that were moved a little further than they should
	expired    int    // keys that were gone when their state was to be seen, rightly
	difference string // the first; the comparison ends with it
}

func (f *findings) String() string {
	return fmt.Sprintf("%d replies %v, %d by a clock that had run back; %d moved the expiry (%d of them late), %d kept it; "+
		"%d keys had expired before they were seen", f.replies, f.statuses, f.clamped, f.moved, f.late, f.kept, f.expired)
}

func (f *findings) count(s seen, x expectation) {
	f.replies++
	f.statuses[s.answer.Status]++
	if s.answer.EffectiveNow > s.answer.ServerNow {
		f.clamped++
	}
	if s.answer.Status != reply.Allowed {
		return
	}
	switch {
	case s.after.absent():
		f.expired++
	case !x.moves:
		f.kept++
	default:
		f.moved++
		if s.after.expiresAt > x.after.expiresAt {
			f.late++
		}
	}
}

// poor names what was seen so rarely that the comparison says little of it.
func (f *findings) poor() []string {
	var poor []string
	for _, wanted := range []struct {
		name  string
		count int
		share float64 // of the replies
	}{
		{"ALLOWED", f.statuses[reply.Allowed], 0.2},
		{"DENIED", f.statuses[reply.Denied], 0.1},
		{"CLOCK_UNSAFE", f.statuses[reply.ClockUnsafe], 0.02},
		{"STATE_INCOMPATIBLE", f.statuses[reply.StateIncompatible], 0.02},
		{"INVALID", f.statuses[reply.Invalid], 0.02},
		{"a clock that ran back", f.clamped, 0.02},
		{"an expiry that moved, to the millisecond", f.moved - f.late, 0.05},
		{"an expiry that did not move", f.kept, 0.02},
	} {
		if float64(wanted.count) < wanted.share*float64(f.replies) {
			poor = append(poor, wanted.name)
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
	}
	if poor := rich.poor(); len(poor) > 0 {
		t.Errorf("poor in %q, must not be", poor)
	}
	for name, spoil := range map[string]func(f *findings){
		"no denials":           func(f *findings) { f.statuses = map[reply.Status]int{reply.Allowed: 1000} },
		"a clock that is safe": func(f *findings) { f.clamped = 19 },
		"nothing moved":        func(f *findings) { f.late = 11 },
		"nothing kept":         func(f *findings) { f.kept = 19 },
	} {
		spoiled := rich
		if spoil(&spoiled); len(spoiled.poor()) == 0 {
			t.Errorf("%s: not seen to be poor", name)
		}
	}
}

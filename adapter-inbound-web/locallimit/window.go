package locallimit

import (
	"slices"
	"time"
)

// Slots is the number of parts of a window. Admissions within one part are
// remembered together.
const Slots = 60

// window remembers the admissions of one subject. Its times are counted from
// the limiter's start. The zero window is that of a new subject.
type window struct {
	// slots are in order of time, none empty: at most Slots + 1 after discard,
	// since a window that begins within a slot reaches into one slot more.
	slots []slot
}

// slot is what was admitted within one slot's time.
type slot struct {
	last  time.Duration // the latest admission
	count int           // what all of them cost
}

// discard forgets the slots whose last admission was at or before horizon.
func (w *window) discard(horizon time.Duration) {
	gone := 0
	for gone < len(w.slots) && w.slots[gone].last <= horizon {
		gone++
	}
	if gone > 0 {
		w.slots = slices.Delete(w.slots, 0, gone)
	}
}

// idle reports whether discard would leave nothing.
func (w *window) idle(horizon time.Duration) bool {
	return len(w.slots) == 0 || w.last() <= horizon
}

// spent is how much is remembered.
func (w *window) spent() int {
	spent := 0
	for i := range w.slots {
		spent += w.slots[i].count
	}
	return spent
}

// admit remembers an admission of cost at now, which is no earlier than those
// before. Slots are width long, the first beginning at the limiter's start.
func (w *window) admit(cost int, now, width time.Duration) {
	if n := len(w.slots); n > 0 && w.slots[n-1].last/width == now/width {
		w.slots[n-1].last = now
		w.slots[n-1].count += cost
		return
	}
	w.slots = append(w.slots, slot{last: now, count: cost})
}

// last is the latest admission. There must be one.
func (w *window) last() time.Duration { return w.slots[len(w.slots)-1].last }

// lastBeyond is the latest admission that must be forgotten before no more than
// keep are left. There must be more than keep, which is not negative.
func (w *window) lastBeyond(keep int) time.Duration {
	i := 0
	for excess := w.spent() - keep - w.slots[0].count; excess > 0; excess -= w.slots[i].count {
		i++
	}
	return w.slots[i].last
}

// clone is a window with the same past and a future of its own.
func (w *window) clone() window { return window{slots: slices.Clone(w.slots)} }

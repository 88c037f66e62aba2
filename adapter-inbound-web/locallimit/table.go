package locallimit

import (
	"container/list"
	"time"
)

// table holds the windows of at most room subjects. Each had an admission, which
// may have been discarded.
//
// An LRU cache would drop a window to make room for another; here that is
// allowed only for a window that is empty, which is the caller's to know.
type table struct {
	room  int
	byKey map[string]*subject
	// order lists the subjects, those first whose last admission is longest ago.
	order *list.List
}

type subject struct {
	key    string
	window window
	place  *list.Element // in table.order
}

func newTable(room int) *table {
	return &table{room: room, byKey: make(map[string]*subject), order: list.New()}
}

// find is nil for a subject that is not in the table.
func (t *table) find(key string) *subject { return t.byKey[key] }

// touch tells that s was admitted just now.
func (t *table) touch(s *subject) { t.order.MoveToBack(s.place) }

// add gives a new subject a window, and the caller has it admitted at once. The
// table must not be full.
func (t *table) add(key string, w window) *subject {
	s := &subject{key: key, window: w}
	s.place = t.order.PushBack(s)
	t.byKey[key] = s
	return s
}

// reclaim removes up to two subjects that were last admitted at or before
// horizon. Two, because with one for each that comes the table would not shrink
// after a crowd has left.
func (t *table) reclaim(horizon time.Duration) {
	for range 2 {
		first := t.order.Front()
		if first == nil {
			return
		}
		s := first.Value.(*subject)
		if !s.window.idle(horizon) {
			return
		}
		t.order.Remove(first)
		delete(t.byKey, s.key)
	}
}

func (t *table) full() bool { return len(t.byKey) >= t.room }

// idle reports whether nobody was admitted after horizon.
func (t *table) idle(horizon time.Duration) bool {
	last := t.order.Back()
	return last == nil || last.Value.(*subject).window.idle(horizon)
}

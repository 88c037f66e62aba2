package locallimit

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Ensure that a million subjects take no more memory than the table has room
// for, and that the first of them is still known at the end.
func TestTableIsBounded(t *testing.T) {
	const room = 1000
	limiter, err := New(Config{Limit: 1, Window: time.Hour, MaxSubjects: room})
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 8)
	for i := range 1_000_000 {
		binary.BigEndian.PutUint64(key, uint64(i))
		limiter.Take(string(key))
		if got := len(limiter.counter.subjects.byKey); got > room {
			t.Fatalf("%d subjects in a table for %d", got, room)
		}
	}
	if list, index := limiter.counter.subjects.order.Len(), len(limiter.counter.subjects.byKey); list != room || index != room {
		t.Errorf("%d subjects listed and %d indexed, want %d", list, index, room)
	}
	binary.BigEndian.PutUint64(key, 0)
	if limiter.Take(string(key)).Allowed {
		t.Error("the first subject was forgotten")
	}
}

// Ensure that subjects that are gone make room as others come, and that those
// who still spend stay.
func TestTableShrinksAfterACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 1000
		limiter, err := New(Config{Limit: 1000, Window: time.Minute, MaxSubjects: room})
		if err != nil {
			t.Fatal(err)
		}
		take := func(prefix byte, i int) bool {
			return limiter.Take(string(binary.BigEndian.AppendUint32([]byte{prefix}, uint32(i)))).Allowed
		}
		take('r', 0) // a regular, who comes first and comes again
		for i := range room - 1 {
			take('c', i)
		}
		time.Sleep(30 * time.Second)
		take('r', 0)
		time.Sleep(30 * time.Second)
		for i := range 100 {
			take('n', i)
		}
		if got, want := len(limiter.counter.subjects.byKey), room-100; got != want {
			t.Errorf("%d subjects remembered, want %d", got, want)
		}
		if limiter.counter.subjects.find(string([]byte{'r', 0, 0, 0, 0})) == nil {
			t.Error("the regular was removed")
		}
		if len(limiter.counter.overflow.slots) > 0 {
			t.Error("somebody found no room")
		}
	})
}

// Ensure that a subject's memory does not depend on how much it spends.
func TestWindowIsBounded(t *testing.T) {
	for name, window := range map[string]time.Duration{
		"a multiple of slots":      time.Minute,
		"no multiple of slots":     7 * time.Millisecond,
		"the shortest":             MinWindow,
		"the longest":              MaxWindow,
		"one more than a multiple": 61 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter, err := New(Config{Limit: MaxLimit, Window: window, MaxSubjects: 1})
				if err != nil {
					t.Fatal(err)
				}
				if limiter.counter.width*Slots < window {
					t.Errorf("%d slots of %v do not fill %v", Slots, limiter.counter.width, window)
				}
				most := 0
				for range 2_000 {
					limiter.Take("subject")
					slots := limiter.counter.subjects.find("subject").window.slots
					most = max(most, len(slots))
					if cap(slots) > 128 {
						t.Fatalf("room for %d slots", cap(slots))
					}
					time.Sleep(window / 1000)
				}
				if most < Slots || most > Slots+1 {
					t.Errorf("at most %d slots at a time, want %d or one more", most, Slots)
				}
			})
		})
	}
}

// Ensure that time is measured by the monotonic clock, which setting the
// system's clock does not move.
func TestClockIsMonotonic(t *testing.T) {
	limiter, err := New(Config{Limit: 1, Window: time.Minute, MaxSubjects: 1})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := NewLayers(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []time.Time{limiter.start, layers.start} {
		if !strings.Contains(start.String(), " m=") {
			t.Errorf("%v has no monotonic reading", start)
		}
	}
}

package execution

import (
	"context"
	"sync"
	"time"
)

// bounded is a context that ends at a moment, and not before when its parent is
// cancelled: no call takes long, and where a caller waits for others it listens to
// its own context too. It is what context.WithDeadline would give otherwise, for a
// fraction of what that costs a call, since its timer is used again.
type bounded struct {
	context.Context
	moment time.Time
	alarm  *alarm
}

func (b *bounded) Deadline() (time.Time, bool) { return b.moment, true }

func (b *bounded) Done() <-chan struct{} { return b.alarm.rings }

// Err looks at the clock and not at the alarm, which may be somebody else's by
// the time that somebody asks.
func (b *bounded) Err() error {
	if time.Now().Before(b.moment) {
		return nil
	}
	return context.DeadlineExceeded
}

// alarm rings once.
type alarm struct {
	timer *time.Timer
	rings chan struct{}
}

// alarms are those that have not rung. The zero value is ready to use.
type alarms struct{ silent sync.Pool }

// set gives an alarm that rings at moment unless it is put away before.
func (a *alarms) set(moment time.Time) *alarm {
	remaining := time.Until(moment)
	if used, ok := a.silent.Get().(*alarm); ok {
		used.timer.Reset(remaining)
		return used
	}
	fresh := &alarm{rings: make(chan struct{})}
	fresh.timer = time.AfterFunc(remaining, func() { close(fresh.rings) })
	return fresh
}

// off puts an alarm away.
func (a *alarms) off(used *alarm) {
	if used.timer.Stop() {
		a.silent.Put(used)
	}
}

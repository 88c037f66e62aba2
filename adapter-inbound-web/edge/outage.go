package edge

import (
	"sync/atomic"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// outageAfter is how long a store must have decided nothing to be away.
const outageAfter = time.Second

// outage tells a store that is away from one that decides, though not for everybody
// in time: a flood can be too much for this process or for the store, and must not
// open the gate by that. The zero value has seen no decision.
type outage struct {
	decided atomic.Pointer[time.Time] // the last time
}

// note takes into account what a request came to.
func (o *outage) note(outcome ratelimit.LayeredOutcome) {
	if _, decided := outcome.(ratelimit.LayeredEvaluated); decided {
		now := time.Now()
		o.decided.Store(&now)
	}
}

// lasts reports whether nothing has been decided for long.
func (o *outage) lasts() bool {
	decided := o.decided.Load()
	return decided == nil || time.Since(*decided) >= outageAfter
}

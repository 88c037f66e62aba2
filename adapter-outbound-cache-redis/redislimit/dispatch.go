package redislimit

import (
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/shared-contract/ratelimit"
)

// Dispatch is how evaluations reach the server.
type Dispatch string

// All kinds of dispatch.
const (
	// Batched lets the evaluations of one moment share the wire. A caller is
	// answered after the command timeout at the latest.
	Batched Dispatch = "batched"
	// Pooled gives each evaluation a connection of its own. A caller is answered
	// after pool timeout and command timeout at the latest.
	Pooled Dispatch = "pooled"
)

// Dispatches lists all kinds of dispatch.
func Dispatches() []Dispatch { return []Dispatch{Batched, Pooled} }

// newExecutor needs missed for [Batched] alone, as [execution.NewBatched] says: with
// [Pooled] dispatch no caller leaves before its evaluation has ended.
func newExecutor(dispatch Dispatch, client *redis.Client, missed func(*certainty.Failure)) execution.Executor {
	if dispatch == Pooled {
		return execution.NewPooled(client)
	}
	return execution.NewBatched(client, missed)
}

// bound is the longest that an evaluation takes.
func (c Config) bound() time.Duration {
	if c.Dispatch == Pooled {
		return c.PoolTimeout + c.CommandTimeout
	}
	return c.CommandTimeout
}

// CheckDispatch gives the faults of all timeouts, of Dispatch and of Breaker, as
// [ratelimit.Faults], or nil.
func (c Config) CheckDispatch() error {
	var faults ratelimit.Faults
	c.checkDispatch(&faults)
	return faults.Err()
}

func (c Config) checkDispatch(faults *ratelimit.Faults) {
	faults.AddUnlessDuration("command-timeout", c.CommandTimeout, time.Millisecond, MaxTimeout)
	faults.AddUnlessDuration("dial-timeout", c.DialTimeout, time.Millisecond, MaxTimeout)
	faults.AddUnlessDuration("pool-timeout", c.PoolTimeout, time.Millisecond, MaxTimeout)
	if c.Dispatch != Batched && c.Dispatch != Pooled {
		faults.Add("dispatch", "must be %s or %s", Batched, Pooled)
	}
	c.Breaker.check(faults)
}

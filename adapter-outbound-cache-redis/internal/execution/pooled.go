package execution

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// Pooled sends each call over a connection of its own, in the goroutine of its
// caller, who waits until the bound even if its ctx is cancelled.
type Pooled struct {
	client *redis.Client
	alarms alarms
}

var _ Executor = (*Pooled)(nil)

// NewPooled runs programs over client, which stays the caller's.
func NewPooled(client *redis.Client) *Pooled { return &Pooled{client: client} }

// Run keeps the promises of [Executor].
func (p *Pooled) Run(ctx context.Context, bound time.Time, program lua.Program, operands ...Operand) (any, *certainty.Failure) {
	alarm := p.alarms.set(bound)
	defer p.alarms.off(alarm)
	e := newEvaluation(ctx, program, operands)
	exchange(&bounded{ctx, bound, alarm}, p.client, e)
	explain(p.client, isUsedUp, e.failed)
	return e.value, e.failed
}

// isUsedUp: callers wait for each other's connections.
func isUsedUp(client *redis.Client) bool {
	return int(client.PoolStats().TotalConns) >= client.Options().PoolSize
}

package execution

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
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
	return e.value, p.explain(e.failed)
}

// explain tells a pool that is used up from a server that does not connect: both
// let the caller's time run out while it waits for a connection.
func (p *Pooled) explain(failed *certainty.Failure) *certainty.Failure {
	if failed != nil && failed.Category == failure.Connection && errors.Is(failed.Err, context.DeadlineExceeded) &&
		int(p.client.PoolStats().TotalConns) >= p.client.Options().PoolSize {
		failed.Category = failure.Saturated
	}
	return failed
}

package execution

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/shared-contract/failure"
)

// Pooled sends each call over a connection of its own, in the goroutine of its
// caller. A caller that is cancelled after the dispatch waits for the reply
// nevertheless.
type Pooled struct {
	client *redis.Client
}

var _ Executor = (*Pooled)(nil)

// NewPooled runs programs over client, which stays the caller's.
func NewPooled(client *redis.Client) *Pooled { return &Pooled{client: client} }

// Run keeps the promises of [Executor].
func (p *Pooled) Run(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	e := newEvaluation(ctx, call, key, last)
	exchange(ctx, p.client, e)
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

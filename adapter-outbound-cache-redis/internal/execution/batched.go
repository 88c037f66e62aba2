package execution

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/shared-contract/failure"
)

const (
	// lanes is how many batches are on the wire at one time, each over a
	// connection of its own: enough that the server always has one to work on.
	lanes = 2
	// batchBytes bounds a batch.
	batchBytes = 32 << 10
	// WriteBufferBytes is what the client's connections must buffer, so that a
	// batch with all programs is one write: what is known after a write that
	// failed rests on that.
	WriteBufferBytes = 2 * batchBytes
)

// Batched lets the calls of one moment share the wire. While a lane is free, a
// call is sent at once, in the goroutine of its caller. While all are taken,
// calls wait, and whichever lane is free next takes all of them along in one
// piece. So a call alone costs what it costs with [Pooled], and the more calls
// there are, the less each one costs.
//
// A caller leaves when its ctx ends, wherever its call is. Nothing runs while
// there is nothing to do.
type Batched struct {
	client *redis.Client
	lanes  int

	mu      sync.Mutex
	taken   int        // lanes in use
	waiting []*awaited // none unless all lanes are taken
}

var _ Executor = (*Batched)(nil)

// NewBatched runs programs over client, which stays the caller's.
func NewBatched(client *redis.Client) *Batched {
	return &Batched{client: client, lanes: min(lanes, client.Options().PoolSize)}
}

// awaited is an evaluation whose caller waits for somebody else to send it.
type awaited struct {
	*evaluation
	boarded atomic.Bool   // a lane has taken it along
	done    chan struct{} // closed when value and failed are set
}

// Run keeps the promises of [Executor].
func (b *Batched) Run(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	e := newEvaluation(ctx, call, key, last)
	command := e.command // whoever sends e may replace it
	queued := b.queueUnlessFree(e)
	if queued == nil {
		defer b.leaveLane()
		exchange(ctx, b.client, e)
		return e.value, e.failed
	}
	select {
	case <-queued.done:
		return e.value, e.failed
	case <-ctx.Done():
		return nil, abandon(ctx, queued, command)
	}
}

// Waiting is how many calls wait for a lane, those included whose callers have
// left.
func (b *Batched) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// queueUnlessFree takes a free lane and returns nil, or queues e.
func (b *Batched) queueUnlessFree(e *evaluation) *awaited {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken < b.lanes {
		b.taken++
		return nil
	}
	queued := &awaited{evaluation: e, done: make(chan struct{})}
	b.waiting = append(b.waiting, queued)
	return queued
}

// abandon says what is known of a call whose caller leaves.
func abandon(ctx context.Context, queued *awaited, command certainty.Command) *certainty.Failure {
	left := &certainty.Failure{Certain: command.Withdraw(), Err: ctx.Err()}
	switch {
	case !left.Certain:
		left.Category = failure.NoReply
	case errors.Is(left.Err, context.Canceled):
		left.Category = failure.Cancelled
	case queued.boarded.Load():
		left.Category = failure.Connection // the lane has got none yet
	default:
		left.Category = failure.Saturated
	}
	return left
}

// leaveLane hands the lane over to those who wait, or frees it.
func (b *Batched) leaveLane() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		go b.serve()
		return
	}
	b.taken--
}

// serve has a lane, and frees it when nobody waits any more.
func (b *Batched) serve() {
	for {
		// Those who have just been answered may have more to ask: they go first,
		// and then share a batch.
		runtime.Gosched()
		batch := b.board()
		if batch == nil {
			return
		}
		b.carry(batch)
	}
}

// board takes as many waiting calls as fit into one batch, in order of arrival;
// nil if there is none, and then the lane is free.
func (b *Batched) board() []*awaited {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.taken--
		return nil
	}
	fit, size := 0, 0
	for _, queued := range b.waiting {
		size += queued.call.sizeOf(queued.key, queued.last)
		if fit > 0 && size > batchBytes {
			break
		}
		fit++
	}
	batch := b.waiting[:fit:fit]
	b.waiting = b.waiting[fit:]
	return batch
}

// carry sends a batch and answers its callers. The client's own timeouts bound
// it, since callers have different ones.
func (b *Batched) carry(batch []*awaited) {
	evaluations := make([]*evaluation, 0, len(batch))
	for _, queued := range batch {
		queued.boarded.Store(true)
		if !queued.command.Withdrawn() {
			evaluations = append(evaluations, queued.evaluation)
		}
	}
	if len(evaluations) > 0 {
		exchange(context.Background(), b.client, evaluations...)
	}
	for _, queued := range batch {
		close(queued.done)
	}
}

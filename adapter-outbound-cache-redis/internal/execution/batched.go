package execution

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
)

const (
	// alone is how many calls are on the wire until others wait to share it: so few
	// are answered sooner than they would gather, and cost no more.
	alone = 8
	// batches is how many are on the wire at one time while calls wait, each over a
	// connection of its own: enough that the server always has one to work on.
	batches = 2
	// batchBytes bounds a batch.
	batchBytes = 32 << 10
	// WriteBufferBytes is what the client's connections must buffer, so that a
	// batch with all programs is one write: what is known after a write that
	// failed rests on that.
	WriteBufferBytes = 3 * batchBytes
)

// Batched lets the calls of one moment share the wire. While few are on it, a
// call is sent at once, in the goroutine of its caller. When there are more, calls
// wait, and whichever lane is free next takes all of them along in one piece. While
// many are on the wire, no more than two lanes go on. So a few calls cost what they
// cost with [Pooled], and the more calls there are, the less each one costs.
//
// A caller who waits leaves at its bound or when its ctx ends, wherever its call
// is; one who has a lane of its own leaves at its bound, as with [Pooled]. Nothing
// runs while there is nothing to do.
type Batched struct {
	client *redis.Client
	alone  int // and the most lanes
	alarms alarms
	missed func(*certainty.Failure)

	mu      sync.Mutex
	sent    int        // calls on the wire
	lanes   int        // who has a connection, or is about to take one
	waiting []*awaited // none unless there are lanes, which will take them along
}

var _ Executor = (*Batched)(nil)

// NewBatched runs programs over client, which stays the caller's. What became of a
// call whose caller had left when it ended is told to missed, nil that it was
// answered.
func NewBatched(client *redis.Client, missed func(*certainty.Failure)) *Batched {
	return &Batched{client: client, alone: min(alone, client.Options().PoolSize), missed: missed}
}

// awaited is an evaluation whose caller waits for somebody else to send it.
type awaited struct {
	*evaluation
	bound   time.Time     // when its caller leaves at the latest
	boarded atomic.Bool   // a lane has taken it along
	left    atomic.Bool   // its caller has
	done    chan struct{} // closed when value and failed are set
}

// Run keeps the promises of [Executor].
func (b *Batched) Run(ctx context.Context, bound time.Time, program lua.Program, operands ...Operand) (any, *certainty.Failure) {
	alarm := b.alarms.set(bound)
	defer b.alarms.off(alarm)
	e := newEvaluation(ctx, program, operands)
	command := e.command // whoever sends e may replace it
	queued := b.queueUnlessFew(e, bound)
	if queued == nil {
		defer b.leaveLane()
		exchange(&bounded{ctx, bound, alarm}, b.client, e)
		return e.value, e.failed
	}
	select {
	case <-queued.done:
		return e.value, e.failed
	case <-ctx.Done():
	case <-alarm.rings:
	}
	select {
	case <-queued.done: // at the last moment
		return e.value, e.failed
	default:
		queued.left.Store(true)
		failed := abandon(ctx, queued, command)
		explain(b.client, isFree, failed)
		return nil, failed
	}
}

// Waiting is how many calls wait for a lane, those included whose callers have
// left.
func (b *Batched) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// queueUnlessFew takes a lane for a call of its own and returns nil, or queues e.
func (b *Batched) queueUnlessFew(e *evaluation, bound time.Time) *awaited {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes < b.alone && (b.sent < b.alone || b.lanes < batches) {
		b.lanes++
		b.sent++
		return nil
	}
	queued := &awaited{evaluation: e, bound: bound, done: make(chan struct{})}
	b.waiting = append(b.waiting, queued)
	return queued
}

// abandon says what is known of a call whose caller leaves.
func abandon(ctx context.Context, queued *awaited, command certainty.Command) *certainty.Failure {
	left := &certainty.Failure{Certain: command.Withdraw(), Left: true, Err: cmp.Or(ctx.Err(), context.DeadlineExceeded)}
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

// leaveLane ends a call that had a lane of its own, and hands the lane over to
// those who wait.
func (b *Batched) leaveLane() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent--
	if b.keepsLane() {
		go b.serve()
	}
}

// keepsLane gives up a lane unless it is to take those along who wait. If somebody
// does, there is always a lane that is to.
func (b *Batched) keepsLane() bool {
	if len(b.waiting) > 0 && (b.sent < b.alone || b.lanes <= batches) {
		return true
	}
	b.lanes--
	return false
}

// serve has a lane, until it gives it up.
func (b *Batched) serve() {
	var batch []*awaited
	for {
		// Those who have just been answered may have more to ask: they go first,
		// and then share a batch.
		runtime.Gosched()
		if batch = b.board(len(batch)); batch == nil {
			return
		}
		b.carry(batch)
	}
}

// board ends the calls of the batch before, and takes as many waiting calls as fit
// into the next, in order of arrival; it drops those whose callers have left. It
// returns nil if the lane was given up.
func (b *Batched) board(before int) []*awaited {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent -= before
	if !b.keepsLane() {
		return nil
	}
	batch := make([]*awaited, 0, len(b.waiting))
	seen, size := 0, 0
	for _, queued := range b.waiting {
		if !queued.command.Withdrawn() {
			size += queued.size()
			if size > batchBytes && len(batch) > 0 {
				break
			}
			batch = append(batch, queued)
		}
		seen++
	}
	b.waiting = slices.Delete(b.waiting, 0, seen)
	if len(batch) == 0 { // all have left
		b.lanes--
		return nil
	}
	b.sent += len(batch)
	return batch
}

// carry sends a batch and answers its callers. It ends when the last of them has
// left, however long the client would go on to connect.
func (b *Batched) carry(batch []*awaited) {
	evaluations := make([]*evaluation, len(batch))
	for i, queued := range batch {
		queued.boarded.Store(true)
		evaluations[i] = queued.evaluation
	}
	ctx, cancel := context.WithDeadline(context.Background(), lastBound(batch))
	defer cancel()
	exchange(ctx, b.client, evaluations...)
	for _, queued := range batch {
		close(queued.done)
		if queued.left.Load() {
			b.missed(queued.failed)
		}
	}
}

func lastBound(batch []*awaited) time.Time {
	last := slices.MaxFunc(batch, func(a, b *awaited) int { return a.bound.Compare(b.bound) })
	return last.bound
}

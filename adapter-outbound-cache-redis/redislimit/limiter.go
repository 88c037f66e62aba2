// Package redislimit is the edge port and the layered port over Redis: one atomic
// program and one round trip per evaluation, shared by all processes that use the
// same server, secret and policies.
//
// A [Limiter] is passive until it is used: [New] opens no connection and starts
// no goroutine. [Limiter.Prepare] connects ahead of the first evaluation and
// tells whether the server is fit; it need not succeed, since an evaluation
// connects by itself.
package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Limiter evaluates on a Redis server. It is safe for concurrent use.
type Limiter struct {
	config   Config
	client   *redis.Client
	executor execution.Executor
	breaker  breaker
	keys     rediskey.Builder
	layered  lua.Program // digested once
	probes   []probe
	health   health

	inspection  *inspection
	fingerprint probe

	enforced atomic.Pointer[enforcements]

	admission *semaphore.Weighted
	closing   atomic.Bool
	closeOnce sync.Once
	closed    error
}

var (
	_ ratelimit.EdgePort    = (*Limiter)(nil)
	_ ratelimit.LayeredPort = (*Limiter)(nil)
)

// New returns a limiter, or the faults of config. It refuses a catalog with a
// policy that it has no program for.
func New(config Config) (*Limiter, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	client := newClient(config)
	l := &Limiter{
		config:    config,
		client:    client,
		breaker:   newBreaker(config.Breaker, config.CommandTimeout),
		keys:      rediskey.NewBuilder(config.Secret),
		layered:   lua.Layered(),
		health:    health{logger: config.Logger},
		admission: semaphore.NewWeighted(int64(config.MaxInFlight)),
	}
	l.executor = newExecutor(config.Dispatch, client, l.missed)
	enforced, err := enforce(config.Catalog.Current(), l.keys)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	l.enforced.Store(enforced)
	if l.probes, err = newProbes(l.keys); err != nil {
		return nil, fmt.Errorf("self-test: %w", err)
	}
	if l.fingerprint, err = newFingerprint(config.Secret); err != nil {
		return nil, fmt.Errorf("fingerprint: %w", err)
	}
	if l.inspection, err = newInspection(client, config.Logger); err != nil {
		return nil, fmt.Errorf("inspection: %w", err)
	}
	return l, nil
}

// Close refuses new evaluations as shutting-down, waits for those in flight
// until ctx ends, and closes all connections.
func (l *Limiter) Close(ctx context.Context) error {
	l.closeOnce.Do(func() {
		l.closing.Store(true)
		// Whoever holds every admission knows that nobody else holds one. An
		// evaluation is bounded, so giving up early only ends it early.
		_ = l.admission.Acquire(ctx, int64(l.config.MaxInFlight))
		l.closed = l.client.Close()
	})
	return l.closed
}

// Evaluate keeps the promises of [ratelimit.EdgePort]. It answers at the latest
// some milliseconds after ctx's deadline has come, or the command timeout has
// passed, to which [Pooled] dispatch adds the pool timeout.
func (l *Limiter) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	id := request.PolicyID()
	if _, finite := ctx.Deadline(); !finite || request.IsZero() {
		return unavailable(id, failure.InvalidRequest)
	}
	if request.EvaluationID() != "" {
		return unavailable(id, failure.Unsupported)
	}
	enforced := l.current()
	one, refused := enforced.enforcementOf(id)
	if refused != nil {
		return refused
	}
	policy, _ := enforced.snapshot.PolicyFor(id, request.Subject())
	if request.Cost() > policy.MaxCost() {
		return unavailable(id, failure.InvalidRequest)
	}
	bound, problem := l.admit(ctx)
	if problem != "" {
		return unavailable(id, problem)
	}
	defer l.admission.Release(1)

	raw, failed := l.dispatch(ctx, bound, one.program, execution.Operand{
		Key:      one.keys.Key(request.Subject(), request.Subject()),
		Argument: one.argument(policy, request.Cost()),
	})
	if failed != nil {
		return unanswered(id, failed)
	}
	answer, err := reply.Parse(raw)
	if err == nil {
		err = fits(answer, policy)
	}
	if err != nil {
		return l.misunderstood(ctx, id, err)
	}
	if !answer.Decides() {
		return notDecided(id, answer)
	}
	return ratelimit.Evaluated{Decision: decision(policy, answer)}
}

// admit lets an evaluation begin, which must then be released from admission, and
// says until when it may take. Otherwise it returns why not.
func (l *Limiter) admit(ctx context.Context) (bound time.Time, refused failure.Category) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return time.Time{}, failure.Cancelled
	}
	now := time.Now()
	deadline, _ := ctx.Deadline()
	if deadline.Sub(now) < l.config.CommandTimeout {
		return time.Time{}, failure.DeadlineTooShort
	}
	if !l.admission.TryAcquire(1) {
		if l.closing.Load() {
			return time.Time{}, failure.ShuttingDown
		}
		return time.Time{}, failure.Saturated
	}
	if l.closing.Load() {
		l.admission.Release(1)
		return time.Time{}, failure.ShuttingDown
	}
	if bound = now.Add(l.config.bound()); bound.Before(deadline) {
		return bound, ""
	}
	return deadline, ""
}

// dispatch asks the server, unless it is left alone.
func (l *Limiter) dispatch(ctx context.Context, bound time.Time, program lua.Program, operands ...execution.Operand) (raw any, failed *certainty.Failure) {
	report, passes := l.breaker.pass()
	if !passes {
		failed = &certainty.Failure{Certain: true, Category: failure.Connection, Err: errOpen}
		l.health.failed(ctx, failed)
		return nil, failed
	}
	failed = &certainty.Failure{Category: failure.NoReply, Err: errUnanswered} // should the dispatch panic
	defer func() { report(l.breaker.lesson(failed)) }()
	if raw, failed = l.executor.Run(ctx, bound, program, operands...); failed != nil {
		l.health.failed(ctx, failed)
		return nil, failed
	}
	l.health.recovered(ctx)
	return raw, nil
}

// missed hears what became of an evaluation whose caller had left.
func (l *Limiter) missed(failed *certainty.Failure) {
	l.breaker.learn(failed)
	if failed != nil {
		l.health.failed(context.Background(), failed)
	}
}

// current are the enforcements of the snapshot that is in force at this moment.
func (l *Limiter) current() *enforcements {
	enforced := l.enforced.Load()
	if snapshot := l.config.Catalog.Current(); snapshot != enforced.snapshot {
		next, err := enforce(snapshot, l.keys)
		if err != nil {
			l.config.Logger.Error("a policy cannot be enforced on redis", "error", err)
		}
		enforced = next
		l.enforced.Store(next)
	}
	return enforced
}

// Package redislimit is the edge port over Redis: one atomic program, one key
// and one round trip per evaluation, shared by all processes that use the same
// server, secret and policies.
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
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// retrySoon is what callers are told to wait when the server may be back any
// moment.
const retrySoon = time.Second

// Limiter evaluates on a Redis server. It is safe for concurrent use.
type Limiter struct {
	config   Config
	client   *redis.Client
	executor execution.Executor
	breaker  breaker
	keys     rediskey.Builder
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

var _ ratelimit.EdgePort = (*Limiter)(nil)

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
		executor:  newExecutor(config.Dispatch, client),
		breaker:   newBreaker(config.Breaker),
		keys:      rediskey.NewBuilder(config.Secret),
		health:    health{logger: config.Logger},
		admission: semaphore.NewWeighted(int64(config.MaxInFlight)),
	}
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
// when ctx's deadline has come, or the command timeout has passed, to which
// [Pooled] dispatch adds the pool timeout.
func (l *Limiter) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	unavailable := func(category failure.Category) ratelimit.Outcome {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: category, RetryAfter: retryAfter(category)},
			PolicyID:    request.PolicyID(),
		}
	}
	deadline, finite := ctx.Deadline()
	if !finite || request.IsZero() {
		return unavailable(failure.InvalidRequest)
	}
	if request.EvaluationID() != "" {
		return unavailable(failure.Unsupported)
	}
	enforced, known := l.enforcement(request.PolicyID())
	if !known {
		return incompatible(request.PolicyID(), failure.UnknownPolicy)
	}
	if enforced == nil {
		return unavailable(failure.Unsupported)
	}
	if request.Cost() > enforced.policy.MaxCost() {
		return unavailable(failure.InvalidRequest)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return unavailable(failure.Cancelled)
	}
	now := time.Now()
	if deadline.Sub(now) < l.config.CommandTimeout {
		return unavailable(failure.DeadlineTooShort)
	}
	admitted := l.admission.TryAcquire(1)
	if admitted {
		defer l.admission.Release(1)
	}
	if l.closing.Load() {
		return unavailable(failure.ShuttingDown)
	}
	if !admitted {
		return unavailable(failure.Saturated)
	}

	if bound := now.Add(l.config.bound()); bound.Before(deadline) {
		deadline = bound
	}
	raw, failed := l.dispatch(ctx, deadline, enforced, request)
	if failed != nil {
		l.health.failed(ctx, failed)
		if failed.Certain {
			return unavailable(failed.Category)
		}
		return ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: failed.Category, RetryAfter: retryAfter(failed.Category)},
			PolicyID:      request.PolicyID(),
		}
	}
	l.health.recovered(ctx)
	return l.outcome(ctx, enforced, raw)
}

// dispatch asks the server, unless it is left alone.
func (l *Limiter) dispatch(ctx context.Context, bound time.Time, enforced *enforcement, request ratelimit.Request) (raw any, failed *certainty.Failure) {
	report, passes := l.breaker.pass()
	if !passes {
		return nil, &certainty.Failure{Certain: true, Category: failure.Connection, Err: errOpen}
	}
	failed = &certainty.Failure{Category: failure.NoReply, Err: errUnanswered} // should the dispatch panic
	defer func() { report(lesson(failed)) }()
	key := enforced.keys.Key(request.Subject(), request.Subject())
	return l.executor.Run(ctx, bound, enforced.program, key, enforced.argument(request.Cost()))
}

// enforcement finds a policy in the snapshot that is in force at this moment.
func (l *Limiter) enforcement(policyID string) (*enforcement, bool) {
	enforced := l.enforced.Load()
	if snapshot := l.config.Catalog.Current(); snapshot != enforced.snapshot {
		next, err := enforce(snapshot, l.keys)
		if err != nil {
			l.config.Logger.Error("a policy cannot be enforced on redis", "error", err)
		}
		enforced = next
		l.enforced.Store(next)
	}
	one, known := enforced.byID[policyID]
	return one, known
}

func (l *Limiter) outcome(ctx context.Context, enforced *enforcement, raw any) ratelimit.Outcome {
	policy := enforced.policy
	answer, err := reply.Parse(raw)
	if err == nil && answer.Limit != 0 && answer.Limit != policy.Quota() {
		err = fmt.Errorf("reply is for limit %d, asked for %d", answer.Limit, policy.Quota())
	}
	if err != nil {
		l.config.Logger.ErrorContext(ctx, "reply of redis not understood", "policy", policy.ID(), "error", err)
		return incompatible(policy.ID(), failure.Protocol)
	}
	switch answer.Status {
	case reply.Allowed, reply.Denied:
		return ratelimit.Evaluated{Decision: ratelimit.Decision{
			Allowed:    answer.Status == reply.Allowed,
			Limit:      answer.Limit,
			Remaining:  answer.Remaining,
			RetryAfter: duration(answer.RetryAfterMillis),
			ResetAfter: duration(answer.ResetAt - answer.ServerNow),
			ResetAt:    time.UnixMilli(answer.ResetAt).UTC(),
			Policy:     policy,
			Source:     ratelimit.GlobalRedis,
			Certainty:  policy.Parameters().Certainty(),
		}}
	case reply.ClockUnsafe:
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: undecided(answer.Status), RetryAfter: duration(answer.RetryAfterMillis)},
			PolicyID:    policy.ID(),
		}
	case reply.StateIncompatible, reply.Invalid:
	}
	return incompatible(policy.ID(), undecided(answer.Status))
}

// undecided is the category of a reply that is no decision.
func undecided(status reply.Status) failure.Category {
	switch status {
	case reply.ClockUnsafe:
		return failure.ClockUnsafe
	case reply.StateIncompatible:
		return failure.State
	case reply.Allowed, reply.Denied, reply.Invalid:
	}
	return failure.Protocol
}

func incompatible(policyID string, category failure.Category) ratelimit.Outcome {
	return ratelimit.Incompatible{
		Incompatible: failure.Incompatible{Category: category},
		PolicyID:     policyID,
	}
}

// retryAfter is zero for what waiting alone does not mend.
func retryAfter(category failure.Category) time.Duration {
	switch category {
	case failure.InvalidRequest, failure.DeadlineTooShort, failure.Unsupported, failure.AccessDenied:
		return 0
	}
	return retrySoon
}

// duration saturates: a reply may name moments that no Duration reaches.
func duration(millis int64) time.Duration {
	return time.Duration(min(millis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

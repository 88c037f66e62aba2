package contender

import (
	"context"
	"math"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"

	"example.com/weir/bench/store"
)

func peers() []Contender {
	return []Contender{
		{Name: "redis_rate", Command: "evalsha", Trips: OneTrip, Keys: "rate:tenant-*", Open: openRedisRate},
		{Name: "ulule", Command: "evalsha", Trips: OneTrip, Keys: "ulule:*", Open: openUlule},
		{Name: "throttled", Command: "eval", Trips: SomeTrips, Keys: "throttled:*", Open: openThrottled},
	}
}

// redisRate is GCRA in one program.
type redisRate struct {
	*redis.Client

	limiter  *redis_rate.Limiter
	subjects []string
}

// RedisRateLimit is what redis_rate is measured with.
func RedisRateLimit() redis_rate.Limit {
	return redis_rate.Limit{Rate: 1, Burst: burst, Period: refillPeriod}
}

func openRedisRate(_ context.Context, address string) (Decider, error) {
	client := store.Connect(address)
	return redisRate{Client: client, limiter: redis_rate.NewLimiter(client), subjects: subjectNames()}, nil
}

func (r redisRate) Decide(ctx context.Context, subject int) (bool, error) {
	result, err := r.limiter.Allow(ctx, r.subjects[subject], RedisRateLimit())
	return err == nil && result.Allowed > 0, err
}

// ulule is a counter with a time-to-live: INCRBY and PTTL in one program.
type ulule struct {
	*redis.Client

	limiter  *limiter.Limiter
	subjects []string
}

func openUlule(_ context.Context, address string) (Decider, error) {
	client := store.Connect(address)
	kept, err := ululestore.NewStoreWithOptions(client, limiter.StoreOptions{Prefix: "ulule"})
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	rate := limiter.Rate{Period: window, Limit: windowLimit}
	return ulule{Client: client, limiter: limiter.New(kept, rate), subjects: subjectNames()}, nil
}

func (u ulule) Decide(ctx context.Context, subject int) (bool, error) {
	result, err := u.limiter.Get(ctx, u.subjects[subject])
	return err == nil && !result.Reached, err
}

// throttledGCRA reads, computes, and tries to swap: two round trips at least.
type throttledGCRA struct {
	*redis.Client

	limiter  *throttled.GCRARateLimiterCtx
	subjects []string
}

func openThrottled(_ context.Context, address string) (Decider, error) {
	client := store.Connect(address)
	limiter, err := newThrottled(client)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return throttledGCRA{Client: client, limiter: limiter, subjects: subjectNames()}, nil
}

func newThrottled(client *redis.Client) (*throttled.GCRARateLimiterCtx, error) {
	kept, err := throttledstore.NewCtx(client, "throttled:")
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(1, refillPeriod), MaxBurst: burst}
	limiter, err := throttled.NewGCRARateLimiterCtx(kept, quota)
	if err != nil {
		return nil, err
	}
	// On a hot subject it would give up after ten attempts.
	limiter.SetMaxCASAttemptsLimit(math.MaxInt)
	return limiter, nil
}

func (t throttledGCRA) Decide(ctx context.Context, subject int) (bool, error) {
	limited, _, err := t.limiter.RateLimitCtx(ctx, t.subjects[subject], 1)
	return err == nil && !limited, err
}

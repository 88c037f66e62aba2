package bootstrap

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/management"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/app-bootstrap/config"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// prepareTimeout bounds how long a start waits for the store.
const prepareTimeout = 5 * time.Second

// limits is who decides: either local, or port and layered by catalog. pseudonym
// is always set, so that all who ask for one subject charge one quota.
type limits struct {
	local *locallimit.Limiter

	port      ratelimit.EdgePort
	layered   ratelimit.LayeredPort
	catalog   *ratelimit.Catalog
	pseudonym *pseudonym.Key
}

// limiting is the one place that chooses between limits that all processes
// share and limits of this process.
func limiting(cfg config.Config) fx.Option {
	if cfg.RateLimit.Enabled() {
		return distributedLimiting()
	}
	return localLimiting()
}

func localLimiting() fx.Option {
	return fx.Module("local-limiting", fx.Provide(newLocalLimits))
}

func newLocalLimits(cfg config.Config) (limits, error) {
	limiter, err := locallimit.New(cfg.Web.LocalLimiter)
	if err != nil {
		return limits{}, err
	}
	key, err := edge.EphemeralKey()
	if err != nil {
		return limits{}, err
	}
	return limits{local: limiter, pseudonym: key}, nil
}

func distributedLimiting() fx.Option {
	return fx.Module("distributed-limiting",
		fx.Provide(
			fx.Private,
			newCatalog,
			fx.Annotate(newRedisLimiter, fx.OnStart(prepare), fx.OnStop((*redislimit.Limiter).Close)),
		),
		fx.Provide(
			newDistributedLimits,
			fx.Annotate(newStoreCheck, fx.ResultTags(`group:"checks"`)),
			fx.Annotate(newBreakerCheck, fx.ResultTags(`group:"checks"`)),
		),
	)
}

func newCatalog(cfg config.Config) *ratelimit.Catalog {
	return ratelimit.NewCatalog(cfg.RateLimit.Policies)
}

// newRedisLimiter connects to nothing yet; prepare does.
func newRedisLimiter(cfg config.Config, catalog *ratelimit.Catalog, logger *slog.Logger) (*redislimit.Limiter, error) {
	redis := cfg.RateLimit.Redis
	redislimit.RouteClientLog(logger)
	secure, err := redisTLS(redis.TLS, logger)
	if err != nil {
		return nil, err
	}
	return redislimit.New(redislimit.Config{
		Endpoint:       redis.Endpoint,
		TLS:            secure,
		Username:       redis.Username,
		Password:       redis.Password.Reveal(),
		CommandTimeout: redis.CommandTimeout,
		DialTimeout:    redis.DialTimeout,
		PoolTimeout:    redis.PoolTimeout,
		PoolSize:       redis.PoolSize,
		Dispatch:       redis.Dispatch,
		Breaker:        redis.Breaker,
		MaxInFlight:    cfg.RateLimit.MaxInFlight,
		Secret:         redis.Secret,
		Catalog:        catalog,
		Logger:         logger,
	})
}

func redisTLS(cfg config.RedisTLS, logger *slog.Logger) (redislimit.TLS, error) {
	secure := redislimit.TLS{RootCAs: cfg.RootCAs, ServerName: cfg.ServerName}
	pair, err := newCertificate("app.rate-limit.redis.tls", cfg.Client, logger)
	if err != nil {
		return redislimit.TLS{}, err
	}
	if pair != nil {
		secure.Certificate = pair.latest
	}
	return secure, nil
}

// prepare lets a start succeed without the store: Weir is not ready then,
// refuses what it cannot decide, and recovers when the store comes back.
func prepare(ctx context.Context, limiter *redislimit.Limiter, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := limiter.Prepare(ctx); err != nil {
		logger.Warn("redis is not ready, starting all the same", "error", err)
	}
}

func newDistributedLimits(cfg config.Config, limiter *redislimit.Limiter, catalog *ratelimit.Catalog) limits {
	return limits{port: limiter, layered: limiter, catalog: catalog, pseudonym: cfg.RateLimit.Redis.Secret.SubjectKey()}
}

// newStoreCheck runs the programs each time, and so brings them back after a
// restart of the store.
func newStoreCheck(limiter *redislimit.Limiter) management.Check {
	return management.Check{Name: "redis", Probe: limiter.Prepare}
}

// newBreakerCheck shows while evaluations are refused without being tried.
func newBreakerCheck(limiter *redislimit.Limiter) management.Check {
	return management.Check{Name: "redis-breaker", Probe: limiter.CheckBreaker}
}

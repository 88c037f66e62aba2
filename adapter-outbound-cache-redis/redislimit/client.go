package redislimit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
)

// keepIdle is how long an unused connection is kept: shorter than the idle
// limits of servers and of what stands between.
const keepIdle = 5 * time.Minute

// newClient makes the limiter's own client. It opens nothing and starts nothing.
func newClient(config Config) *redis.Client {
	endpoint, err := parseEndpoint(config.Endpoint)
	if err != nil {
		panic(err) // Config.check has seen it
	}
	return redis.NewClient(&redis.Options{
		Addr:     endpoint.address,
		DB:       endpoint.database,
		Username: config.Username,
		Password: config.Password,
		Dialer:   certainty.MarkWrites(dialer(config, endpoint)),
		Protocol: 2, // the programs' replies need no more, and no push messages mix in

		DialTimeout:           config.DialTimeout,
		ReadTimeout:           config.CommandTimeout,
		WriteTimeout:          config.CommandTimeout,
		PoolTimeout:           config.PoolTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              config.PoolSize,
		WriteBufferSize:       execution.WriteBufferBytes,
		PipelinePoolSize:      -1, // one pool for all, so that its size is the bound
		ConnMaxIdleTime:       keepIdle,

		// One evaluation is one dispatch: nothing is repeated.
		MaxRetries:    -1,
		DialerRetries: 1,

		// Both would send commands that a least-privilege user may not.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// RouteClientLog sends the log lines of the Redis client library to logger, at
// debug level. The library has one logger for the whole process, so this is for
// the program's start and not for a library that shares a process.
func RouteClientLog(logger *slog.Logger) {
	redis.SetLogger(clientLog{logger})
}

type clientLog struct{ logger *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
	}
}

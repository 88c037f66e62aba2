package bootstrap

import (
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/app-bootstrap/config"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// localConfig listens on ports that the system chooses and keeps its limits in
// the process.
func localConfig(t *testing.T, set ...string) config.Config {
	t.Helper()
	return load(t, append([]string{
		"app.web.address=127.0.0.1:0",
		"app.web.management-address=127.0.0.1:0",
	}, set...)...)
}

// redisConfig keeps its limits in the Redis at addr. Other machines are slower than
// the defaults allow.
func redisConfig(t *testing.T, addr string) config.Config {
	t.Helper()
	const policy = "app.rate-limit.policies.edge."
	return localConfig(t,
		"app.rate-limit.redis.endpoint=redis://"+addr,
		"app.rate-limit.redis.hmac-secret=0123456789abcdef0123456789abcdef",
		"app.web.evaluation-deadline=20s",
		"app.rate-limit.redis.command-timeout=5s", "app.rate-limit.redis.dial-timeout=5s", "app.rate-limit.redis.pool-timeout=5s",
		"app.rate-limit.default-policy=edge",
		policy+"revision=1", policy+"algorithm=fixed-window", policy+"limit=5", policy+"window=1h",
		policy+"max-cost=1", policy+"cleanup-grace=1s", policy+"max-clock-regression=250ms",
	)
}

func load(t *testing.T, set ...string) config.Config {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

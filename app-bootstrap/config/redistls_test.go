package config_test

import (
	"strings"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/app-bootstrap/config"
)

// Ensure that everything about TLS to the store arrives as it was written, and
// that nothing has to be.
func TestLoad_RedisTLS(t *testing.T) {
	bare := mustLoad(t, enabled, secureEndpoint).RateLimit.Redis
	if bare.Endpoint != "rediss://127.0.0.1:6379" || bare.TLS != (config.RedisTLS{}) {
		t.Errorf("got %s with %+v", bare.Endpoint, bare.TLS)
	}

	authority := redistest.NewAuthority(t)
	client := authority.Issue(t)
	cfg, warnings, err := config.Load(config.Sources{
		File: "weir.yaml",
		Set: []string{
			secureEndpoint, "app.rate-limit.redis.tls.ca-file=ca", "app.rate-limit.redis.tls.server-name=redis.internal",
			"app.rate-limit.redis.tls.cert-file=crt", "app.rate-limit.redis.tls.key-file=key",
		},
		ReadFile: files{
			"weir.yaml": enabled, "hmac": secret,
			"ca": string(authority.PEM()), "crt": string(client.Certificate), "key": string(client.Key),
		}.read,
	})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	got := cfg.RateLimit.Redis.TLS
	if got.RootCAs == nil || !got.RootCAs.Equal(authority.Pool()) {
		t.Error("other authorities")
	}
	got.RootCAs = nil
	if want := (config.RedisTLS{ServerName: "redis.internal", Client: config.TLS{CertificateFile: "crt", KeyFile: "key"}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Ensure that a key of another certificate is a fault that names its key and
// shows neither.
func TestLoad_RedisTLSPairThatDoesNotFit(t *testing.T) {
	authority := redistest.NewAuthority(t)
	one, other := authority.Issue(t), authority.Issue(t)
	_, _, err := config.Load(config.Sources{
		File: "weir.yaml",
		Set:  []string{secureEndpoint, "app.rate-limit.redis.tls.cert-file=crt", "app.rate-limit.redis.tls.key-file=key"},
		ReadFile: files{
			"weir.yaml": enabled, "hmac": secret, "crt": string(one.Certificate), "key": string(other.Key),
		}.read,
	})
	if err == nil || !strings.HasPrefix(err.Error(), "app.rate-limit.redis.tls.cert-file: does not go with app.rate-limit.redis.tls.key-file: ") {
		t.Fatalf("error %v", err)
	}
	for _, line := range strings.Split(string(other.Key), "\n")[1:2] {
		if strings.Contains(err.Error(), line) {
			t.Errorf("%v shows the key", err)
		}
	}
}

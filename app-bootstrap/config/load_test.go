package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/app-bootstrap/config"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const secret = "0123456789abcdef0123456789abcdef"

// files is a filesystem in memory.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, exists := f[path]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// enabled has everything that distributed limiting requires.
const enabled = `
app:
  rate-limit:
    default-policy: edge
    redis: {endpoint: "redis://127.0.0.1:6379/0", hmac-secret-file: hmac}
    policies:
      edge: {revision: 1, algorithm: fixed-window, limit: 100, window: 1m, max-cost: 10, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// load loads one YAML text, next to a file of a good HMAC secret.
func load(yaml string, set ...string) (config.Config, []config.Warning, error) {
	return config.Load(config.Sources{
		File:     "weir.yaml",
		Set:      set,
		ReadFile: files{"weir.yaml": yaml, "hmac": secret}.read,
	})
}

func mustLoad(t *testing.T, yaml string, set ...string) config.Config {
	t.Helper()
	cfg, _, err := load(yaml, set...)
	if err != nil {
		t.Fatalf("unexpected faults:\n%v", err)
	}
	return cfg
}

// Ensure that a complete file loads, from real files, into exactly what it says.
func TestLoad_Complete(t *testing.T) {
	yaml, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	secretFile := filepath.Join(directory, "hmac")
	file := filepath.Join(directory, "weir.yaml")
	text := strings.ReplaceAll(string(yaml), "/run/secrets/weir-hmac", secretFile)
	for path, content := range map[string]string{secretFile: secret + "\n", file: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got, warnings, err := config.Load(config.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	hmac, err := pseudonym.NewSecret([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Web: config.Web{
			Address:           "127.0.0.1:8080",
			ManagementAddress: "127.0.0.1:8081",
			Subject: subject.Config{
				Source: "client-ip", Missing: "reject", TrustedProxies: []netip.Prefix{},
				Forwarded: subject.XForwardedFor, Addressing: pseudonym.Addressing{IPv6Bits: 64},
			},
			Routes:             []edge.Route{},
			DefaultRoute:       edge.ChargeDefault,
			Preflight:          edge.ExemptPreflight,
			EvaluationDeadline: 250 * time.Millisecond,
			Headers:            answer.BothHeaders,
			LegacyReset:        answer.DeltaReset,
			Shutdown:           config.Shutdown{Drain: 10 * time.Second},
			LocalLimiter:       locallimit.Config{Limit: 60, Window: time.Minute, MaxSubjects: 65536},
		},
		RateLimit: config.RateLimit{
			DefaultPolicy: "edge-default",
			Policies: snapshot(t,
				ratelimit.PolicySpec{
					ID: "edge-default", Revision: 1, MaxCost: 10,
					Parameters:   ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
					CleanupGrace: time.Minute, MaxClockRegression: 250 * time.Millisecond,
				},
				ratelimit.PolicySpec{
					ID: "quote-calculate", Revision: 1, MaxCost: 50,
					Parameters:   ratelimit.TokenBucket{Capacity: 100, RefillTokens: 10, RefillInterval: time.Second},
					CleanupGrace: time.Minute, MaxClockRegression: 250 * time.Millisecond,
				}),
			MaxInFlight: 1024,
			Redis: config.Redis{
				Endpoint:       "redis://127.0.0.1:6379/0",
				Secret:         hmac,
				CommandTimeout: 50 * time.Millisecond,
				DialTimeout:    250 * time.Millisecond,
				PoolTimeout:    50 * time.Millisecond,
				PoolSize:       32,
				Dispatch:       redislimit.Batched,
				Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func snapshot(t *testing.T, specs ...ratelimit.PolicySpec) *ratelimit.Snapshot {
	t.Helper()
	policies := make([]ratelimit.Policy, len(specs))
	for i, spec := range specs {
		spec.FailurePolicy = ratelimit.FailClosed
		policy, err := ratelimit.NewPolicy(spec)
		if err != nil {
			t.Fatal(err)
		}
		policies[i] = policy
	}
	s, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ensure that the complete file, without what has no default, is the default.
func TestDefault_MatchesTheCompleteFile(t *testing.T) {
	yaml, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	complete := mustLoad(t, string(yaml), "app.rate-limit.redis.endpoint=")
	if !reflect.DeepEqual(complete, config.Default()) {
		t.Errorf("file\n%+v\ndefault\n%+v", complete, config.Default())
	}
	enabledByDefaults := mustLoad(t, enabled).RateLimit.Redis
	withSecret := mustLoad(t, strings.ReplaceAll(string(yaml), "/run/secrets/weir-hmac", "hmac")).RateLimit.Redis
	if !reflect.DeepEqual(enabledByDefaults, withSecret) {
		t.Errorf("defaults of redis\n%+v\nfile\n%+v", enabledByDefaults, withSecret)
	}
}

// Ensure that what says who is asking, and whose pages may read answers, arrives
// as it was written.
func TestLoad_SubjectAndCORS(t *testing.T) {
	cors, err := answer.NewCORS([]string{"https://example.org", "http://localhost:3000"})
	if err != nil {
		t.Fatal(err)
	}
	got := mustLoad(t, `app: {web: {subject: {forwarded: forwarded, ipv6-prefix: 56}, cors: {allowed-origins: ["https://example.org", "http://localhost:3000"]}}}`).Web
	want := subject.Config{
		Source: "client-ip", Missing: "reject", TrustedProxies: []netip.Prefix{},
		Forwarded: subject.StandardForwarded, Addressing: pseudonym.Addressing{IPv6Bits: 56},
	}
	if !reflect.DeepEqual(got.Subject, want) {
		t.Errorf("subject\n%+v\nwant\n%+v", got.Subject, want)
	}
	if !reflect.DeepEqual(got.CORS, cors) {
		t.Errorf("CORS\n%+v\nwant\n%+v", got.CORS, cors)
	}
	if none := mustLoad(t, "", "app.web.cors.allowed-origins=").Web.CORS; none != nil {
		t.Errorf("CORS without origins is %+v, want none", none)
	}
}

// Ensure that each layer wins over those below it.
func TestLoad_Precedence(t *testing.T) {
	const key = "app.web.local-limiter.limit"
	file := "app: {web: {local-limiter: {limit: 2}}}"
	environ := []string{"APP_WEB__LOCAL_LIMITER__LIMIT=3"}
	set := []string{key + "=4"}
	for _, test := range []struct {
		name    string
		sources config.Sources
		want    int
	}{
		{"defaults", config.Sources{}, 60},
		{"file", config.Sources{File: "weir.yaml"}, 2},
		{"environment over file", config.Sources{File: "weir.yaml", Environ: environ}, 3},
		{"environment over defaults", config.Sources{Environ: environ}, 3},
		{"set over everything", config.Sources{File: "weir.yaml", Environ: environ, Set: set}, 4},
		{"the last set counts", config.Sources{Set: append(set, key+"=5")}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.sources.ReadFile = files{"weir.yaml": file}.read
			cfg, _, err := config.Load(test.sources)
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Web.LocalLimiter.Limit; got != test.want {
				t.Errorf("limit %d, want %d", got, test.want)
			}
		})
	}
}

// Ensure that variables reach their keys, of every type, and that variables of
// others are left alone.
func TestLoad_Environment(t *testing.T) {
	cfg, _, err := config.Load(config.Sources{
		File: "weir.yaml",
		Environ: []string{
			"APP_ENV=production", "APP_NAME=x", "APP_WEB=x", "APP_WEBSITE__X=1", "PATH=/bin", "WEIR_CONFIG=x",
			"APP_WEB__SUBJECT__TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7",
			"APP_WEB__EVALUATION_DEADLINE=300ms",
			"APP_RATE_LIMIT__REQUIRED=true",
			"APP_RATE_LIMIT__REDIS__POOL_SIZE=7",
			"APP_RATE_LIMIT__REDIS__ENDPOINT=redis://redis:6379",
			"APP_RATE_LIMIT__REDIS__PASSWORD=012345",
			"APP_RATE_LIMIT__POLICIES__EDGE__LIMIT=500",
		},
		ReadFile: files{"weir.yaml": enabled, "hmac": secret}.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	policy, _ := cfg.RateLimit.Policies.Policy("edge")
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"list", cfg.Web.Subject.TrustedProxies, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}},
		{"duration", cfg.Web.EvaluationDeadline, 300 * time.Millisecond},
		{"integer", cfg.RateLimit.Redis.PoolSize, 7},
		{"text", cfg.RateLimit.Redis.Endpoint, "redis://redis:6379"},
		{"text of digits", cfg.RateLimit.Redis.Password.Reveal(), "012345"},
		{"number of a policy", policy.Quota(), int64(500)},
	} {
		if !reflect.DeepEqual(check.got, check.want) {
			t.Errorf("%s: got %v, want %v", check.name, check.got, check.want)
		}
	}
}

// Ensure that routes arrive as they were written.
func TestLoad_Routes(t *testing.T) {
	cfg := mustLoad(t, enabled+`
  web:
    routes:
      - {pattern: "POST /quotes/{id}/calculate", policy: edge, cost: 10}
      - {pattern: "GET /health", exempt: true}
`)
	want := []edge.Route{
		{Pattern: "POST /quotes/{id}/calculate", Policy: "edge", Cost: 10},
		{Pattern: "GET /health", Exempt: true},
	}
	if !reflect.DeepEqual(cfg.Web.Routes, want) {
		t.Errorf("got %+v, want %+v", cfg.Web.Routes, want)
	}
}

// Ensure that without an endpoint everything else about distributed limiting,
// a route's policy included, is a warning and nothing more.
func TestLoad_DisabledOnlyWarns(t *testing.T) {
	cfg, warnings, err := load(`
app:
  web:
    routes: [{pattern: "GET /a", policy: no-such-policy, cost: 999}, {pattern: "GET /health", exempt: true}]
  rate-limit:
    required: false
    provider: etcd
    default-policy: nobody
    redis: {endpoint: "", pool-size: 0, hmac-secret-file: /missing}
    policies:
      edge: {revision: 0, limit: 5}
`)
	if err != nil {
		t.Fatalf("faults:\n%v", err)
	}
	if cfg.RateLimit.Enabled() || len(cfg.RateLimit.Policies.Policies()) > 0 {
		t.Errorf("limiting is enabled: %+v", cfg.RateLimit)
	}
	wantRoutes := []edge.Route{{Pattern: "GET /a"}, {Pattern: "GET /health", Exempt: true}}
	if !reflect.DeepEqual(cfg.Web.Routes, wantRoutes) {
		t.Errorf("routes %+v, want %+v", cfg.Web.Routes, wantRoutes)
	}
	var keys []string
	for _, warning := range warnings {
		keys = append(keys, warning.Key)
	}
	want := []string{
		"app.rate-limit.default-policy",
		"app.rate-limit.policies.edge",
		"app.rate-limit.provider",
		"app.rate-limit.redis.hmac-secret-file",
		"app.rate-limit.redis.pool-size",
		"app.web.routes[0].policy",
		"app.web.routes[0].cost",
	}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("warnings about %v, want %v", keys, want)
	}
}

// Ensure that a secret is read with the one line ending that editors append.
func TestLoad_SecretFile(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"no newline", "token", "token"},
		{"newline", "token\n", "token"},
		{"carriage return and newline", "token\r\n", "token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, _, err := config.Load(config.Sources{
				Set:      []string{"app.web.management-token-file=token", "app.web.management-address=0.0.0.0:9000"},
				ReadFile: files{"token": test.content}.read,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Web.ManagementToken.Reveal(); got != test.want {
				t.Errorf("token %q, want %q", got, test.want)
			}
		})
	}
}

// Ensure that a configuration can be printed without giving a secret away.
func TestConfig_PrintsNoSecret(t *testing.T) {
	cfg := mustLoad(t, enabled, "app.rate-limit.redis.password=hunter2", "app.web.management-token=hunter3")
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(format, cfg)
		for _, hidden := range []string{"hunter2", "hunter3", secret} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s prints %q: %s", format, hidden, text)
			}
		}
	}
	if got := cfg.RateLimit.Redis.Password.Reveal(); got != "hunter2" {
		t.Errorf("password %q", got)
	}
}

// Ensure that a configuration file without content is no fault.
func TestLoad_EmptyFile(t *testing.T) {
	for _, yaml := range []string{"", "# nothing\n", "---\n", "{}"} {
		cfg := mustLoad(t, yaml)
		if !reflect.DeepEqual(cfg, config.Default()) {
			t.Errorf("%q is not the default: %+v", yaml, cfg)
		}
	}
}

func faultsOf(t *testing.T, err error) config.Faults {
	t.Helper()
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %v is no Faults", err)
	}
	return faults
}

package redislimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func TestMain(m *testing.M) {
	redislimit.RouteClientLog(slog.New(slog.DiscardHandler))
	redistest.Main(m)
}

// Timeouts of the limiters under test. They are generous, since the machines
// that run tests are busy, and now and then stand still for seconds; tests of the
// timeouts set their own.
const (
	commandTimeout = 10 * time.Second
	poolTimeout    = 10 * time.Second
	dialTimeout    = 10 * time.Second
	// callerTimeout is more than a limiter may take.
	callerTimeout = 30 * time.Second
)

// endlessWindow is one that does not end while a test runs: windows are aligned to
// the epoch, and one of ten years next ends in 2030.
const endlessWindow = 3660 * 24 * time.Hour

// policySpec is a valid policy around parameters.
func policySpec(id string, parameters ratelimit.Parameters) ratelimit.PolicySpec {
	return ratelimit.PolicySpec{
		ID:                 id,
		Revision:           1,
		Parameters:         parameters,
		MaxCost:            parameters.Quota(),
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	}
}

func policy(t testing.TB, spec ratelimit.PolicySpec) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func snapshot(t testing.TB, specs ...ratelimit.PolicySpec) *ratelimit.Snapshot {
	t.Helper()
	var policies []ratelimit.Policy
	for _, spec := range specs {
		policies = append(policies, policy(t, spec))
	}
	s, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func secret(t testing.TB) pseudonym.Secret {
	t.Helper()
	s, err := pseudonym.NewSecret([]byte("a secret of the tests, long enough."))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func config(t testing.TB, address string, specs ...ratelimit.PolicySpec) redislimit.Config {
	return redislimit.Config{
		Endpoint:       "redis://" + address,
		CommandTimeout: commandTimeout,
		DialTimeout:    dialTimeout,
		PoolTimeout:    poolTimeout,
		PoolSize:       32,
		Dispatch:       redislimit.Batched,
		Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
		MaxInFlight:    1024,
		Secret:         secret(t),
		Catalog:        ratelimit.NewCatalog(snapshot(t, specs...)),
	}
}

// newLimiter is closed with the test.
func newLimiter(t testing.TB, c redislimit.Config) *redislimit.Limiter {
	t.Helper()
	limiter, err := redislimit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := limiter.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return limiter
}

func digest(t testing.TB, subject string) pseudonym.Digest {
	t.Helper()
	parsed, err := pseudonym.ParseSubject(subject)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Digest(secret(t).SubjectKey())
}

func request(t testing.TB, policyID, subject string, cost int64) ratelimit.Request {
	t.Helper()
	r, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policyID,
		Subject:  digest(t, subject),
		Cost:     cost,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func evaluate(t testing.TB, port ratelimit.EdgePort, r ratelimit.Request) ratelimit.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callerTimeout)
	defer cancel()
	return port.Evaluate(ctx, r)
}

// decide is evaluate for what must come to a decision.
func decide(t testing.TB, port ratelimit.EdgePort, r ratelimit.Request) ratelimit.Decision {
	t.Helper()
	outcome := evaluate(t, port, r)
	evaluated, ok := outcome.(ratelimit.Evaluated)
	if !ok {
		t.Fatalf("outcome is %s, must be a decision", label(outcome))
	}
	return evaluated.Decision
}

// soon polls until condition holds, and reports false if it does not in more time
// than a limiter may take.
func soon(condition func() bool) bool {
	for deadline := time.Now().Add(callerTimeout); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return condition()
		}
	}
	return true
}

// eventually is soon for what must come to hold.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !soon(condition) {
		t.Fatalf("it must come to be that %s", what)
	}
}

// awaitLabel polls until want is the label of an evaluation, and gives how long
// that took.
func awaitLabel(t testing.TB, port ratelimit.EdgePort, want string) (took time.Duration) {
	t.Helper()
	start := time.Now()
	eventually(t, "an evaluation is "+want, func() bool {
		return label(evaluate(t, port, request(t, "p", "somebody", 1))) == want
	})
	return time.Since(start)
}

// level is one unit for a subject, under the policy with the level's name.
func level(t testing.TB, name, subject string) ratelimit.Level {
	t.Helper()
	return ratelimit.Level{Name: name, PolicyID: name, Subject: digest(t, subject), Cost: 1}
}

// shared is a level that is one counter for all roots.
func shared(level ratelimit.Level) ratelimit.Level {
	level.Shared = true
	return level
}

// layeredRequest belongs to a root.
func layeredRequest(t testing.TB, root string, levels ...ratelimit.Level) ratelimit.LayeredRequest {
	t.Helper()
	r, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: digest(t, root), Levels: levels})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func evaluateLayers(t testing.TB, port ratelimit.LayeredPort, r ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callerTimeout)
	defer cancel()
	return port.EvaluateLayers(ctx, r)
}

// decideLayers is evaluateLayers for what must come to a decision.
func decideLayers(t testing.TB, port ratelimit.LayeredPort, r ratelimit.LayeredRequest) ratelimit.LayeredDecision {
	t.Helper()
	outcome := evaluateLayers(t, port, r)
	evaluated, ok := outcome.(ratelimit.LayeredEvaluated)
	if !ok {
		t.Fatalf("outcome is %s, must be a decision", label(outcome))
	}
	return evaluated.Decision
}

// label names an outcome, of one level or of several, in a word.
func label(outcome any) string {
	named := func(class string, category failure.Category) string { return class + " " + string(category) }
	switch o := outcome.(type) {
	case ratelimit.Evaluated:
		if o.Decision.Allowed {
			return "allowed"
		}
		return "denied"
	case ratelimit.LayeredEvaluated:
		if o.Decision.Allowed() {
			return "allowed"
		}
		return "denied"
	case ratelimit.Unavailable:
		return named("unavailable", o.Category)
	case ratelimit.Indeterminate:
		return named("indeterminate", o.Category)
	case ratelimit.Incompatible:
		return named("incompatible", o.Category)
	default:
		return fmt.Sprintf("%T", outcome)
	}
}

func wantLabel(t testing.TB, outcome any, want string) {
	t.Helper()
	if got := label(outcome); got != want {
		t.Fatalf("outcome is %q, must be %q", got, want)
	}
}

// onlyKey is the one limiter key that the server holds.
func onlyKey(t testing.TB, client *redis.Client) string {
	t.Helper()
	keys := client.Keys(t.Context(), "*").Val()
	if len(keys) != 1 {
		t.Fatalf("server holds %d keys, must hold one: %q", len(keys), keys)
	}
	return keys[0]
}

// image is everything about a key, to see whether anything was touched.
func image(t testing.TB, client *redis.Client, key string) string {
	t.Helper()
	dump, err := client.Dump(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return dump + "@" + client.PExpireTime(t.Context(), key).Val().String()
}

// images are those of all keys that the server holds.
func images(t testing.TB, client *redis.Client) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		all[key] = image(t, client, key)
	}
	return all
}

// memo is a log that remembers its lines.
type memo struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (m *memo) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines.Write(p)
}

func (m *memo) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines.String()
}

func (m *memo) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

package redislimit_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that keys have the documented shape and that neither keys, fields nor
// log lines give a subject away, whatever it is made of.
func TestNothingGivesASubjectAway(t *testing.T) {
	server := redistest.Primary(t)
	client := server.Client(t)
	var log memo
	c := config(t, server.Addr, policySpec("edge-default", endlessFive), policySpec("log", ratelimit.SlidingLog{Limit: 5, Window: time.Hour}))
	c.Logger = log.logger()
	redislimit.RouteClientLog(c.Logger)
	defer redislimit.RouteClientLog(slog.New(slog.DiscardHandler))
	limiter := newLimiter(t, c)

	subjects := []string{
		"jane.doe@example.org", "ip:203.0.113.77", "header:X-Api-Key:sk-live-4242424242",
		"a{b}c*d\r\n\x00", strings.Repeat("x", 1024), "\xff\xfe not UTF-8", "héllo", "{}",
	}
	for _, subject := range subjects {
		decide(t, limiter, request(t, "edge-default", subject, 1))
		decideLayers(t, limiter, layersOf(t, subject))
	}
	keys := client.Keys(t.Context(), "*").Val()
	// Each subject has a counter of its own, one that all roots share, and one as a
	// user; a root has that of its own.
	if counters := 4 * len(subjects); len(keys) != counters {
		t.Fatalf("%d keys for %d counters", len(keys), counters)
	}
	shape := regexp.MustCompile(`^weir:1:rate:(edge-default|log):state:\{[A-Za-z0-9_-]{8}\}:[A-Za-z0-9_-]{22}$`)
	for _, key := range keys {
		if !shape.MatchString(key) {
			t.Errorf("key %q has another shape", key)
		}
		for _, secret := range []string{"jane", "203.0.113", "sk-live", "xxxx"} {
			if strings.Contains(key, secret) || strings.Contains(client.Dump(t.Context(), key).Val(), secret) {
				t.Errorf("key %q gives %q away", key, secret)
			}
		}
	}
	// Failures of every kind, which are what a limiter logs.
	client.Set(t.Context(), keys[0], "x", 0)
	nobody := c
	nobody.Endpoint = "redis://127.0.0.1:1"
	garbled := c
	garbled.Endpoint = "redis://" + fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		return fakeredis.Reply{Text: "*1\r\n:1\r\n"}
	})).Addr
	for _, config := range []redislimit.Config{c, nobody, garbled} {
		failing := newLimiter(t, config)
		for _, subject := range subjects {
			evaluate(t, failing, request(t, "edge-default", subject, 1))
			evaluateLayers(t, failing, layersOf(t, subject))
		}
	}
	for _, line := range []string{"redis does not decide", "not understood", "redis client"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %q: nothing was tested", line)
		}
	}
	for _, secret := range []string{"jane", "203.0.113", "sk-live", "xxxx"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log gives %q away", secret)
		}
	}
}

// layersOf are a subject's level under a root that is another subject, the root's
// own, and one that all roots share.
func layersOf(t *testing.T, subject string) ratelimit.LayeredRequest {
	t.Helper()
	root := "root of " + subject[:min(len(subject), 1000)]
	user, own, all := level(t, "edge-default", subject), level(t, "log", root), shared(level(t, "log", subject))
	user.Name, all.Name = "user", "all"
	return layeredRequest(t, root, user, own, all)
}

// Ensure that what tells two states apart is in the key: the subject, the
// policy, its revision; and that the same subject has one slot under all.
func TestKeysKeepStatesApart(t *testing.T) {
	server := redistest.Primary(t)
	client := server.Client(t)
	second := policySpec("a", endlessFive)
	second.Revision = 2
	for _, c := range []redislimit.Config{
		config(t, server.Addr, policySpec("a", endlessFive), policySpec("b", endlessFive)),
		config(t, server.Addr, second),
	} {
		limiter := newLimiter(t, c)
		for _, policy := range c.Catalog.Current().Policies() {
			decide(t, limiter, request(t, policy.ID(), "ip:192.0.2.1", 1))
			decide(t, limiter, request(t, policy.ID(), "header:X-Api-Key:ip:192.0.2.1", 1))
		}
	}
	keys := client.Keys(t.Context(), "*").Val()
	tags := make(map[string]bool)
	for _, key := range keys {
		tags[key[strings.Index(key, "{"):strings.Index(key, "}")]] = true
	}
	if len(keys) != 6 || len(tags) != 2 {
		t.Errorf("%d keys in %d slots, must be 6 in 2: %q", len(keys), len(tags), keys)
	}
}

// Ensure that keys never change: a change would give every subject its whole
// quota again, and a rolling deployment would admit it twice.
func TestKnownKey(t *testing.T) {
	server := redistest.Primary(t)
	limiter := newLimiter(t, config(t, server.Addr, policySpec("edge-default", endlessFive)))
	decide(t, limiter, request(t, "edge-default", "ip:192.0.2.1", 1))
	const want = "weir:1:rate:edge-default:state:{7GVm40AL}:2H7EGJuvtsfHGJ2vecJrcg"
	if key := onlyKey(t, server.Client(t)); key != want {
		t.Errorf("key is %s, must be %s", key, want)
	}
}

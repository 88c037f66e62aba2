package bootstrap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/weir/app-bootstrap/config"
)

// doubtful are values of keys that more than one part has an opinion about, or
// that lie at a bound. The first of each goes with all other firsts.
var doubtful = map[string][]string{
	"app.web.subject.source":                            {"client-ip", "header:X-Api-Key", "header:x-request-id", "header:Host", "header:"},
	"app.web.subject.missing":                           {"reject", "client-ip"},
	"app.web.subject.trusted-proxies":                   {"", "0.0.0.0/0", "::ffff:0:0/96", "::ffff:0:0/95", "::/0,10.0.0.0/8", "fe80::1%eth0"},
	"app.web.subject.forwarded":                         {"x-forwarded-for", "forwarded", ""},
	"app.web.subject.ipv6-prefix":                       {"64", "32", "128", "31", "129"},
	"app.web.cors.allowed-origins":                      {"", "*", "https://example.org,http://[::1]:3000", "https://example.org,*", "null"},
	"app.web.evaluation-deadline":                       {"250ms", "1ms", "1m", "100ms1ns", "59999999us"},
	"app.web.management-token":                          {"", "!", "~", "a b", "\u00e9"},
	"app.web.management-address":                        {"127.0.0.1:0", "[::1]:0", "localhost:0", "[::]:0", ":0"},
	"app.web.default-route":                             {"default", "reject"},
	"app.web.preflight":                                 {"exempt", "count"},
	"app.web.upstream":                                  {"", "http://127.0.0.1:1", "https://[::1]:1/", "http://a:65536", "https://a?", "HTTP://a"},
	"app.web.gateway.dial-timeout":                      {"2s", "1ms", "1m", "1500us"},
	"app.web.gateway.response-header-timeout":           {"30s", "24h", "0s"},
	"app.web.gateway.max-idle-connections":              {"1", "65536", "65537"},
	"app.web.gateway.server-name":                       {"", "app.internal"},
	"app.web.gateway.h2c":                               {"false", "true"},
	"app.web.gateway.health-path":                       {"", "/", "/healthz?deep", "//a", "/a b", "/%zz"},
	"app.web.gateway.forwarded":                         {"x-forwarded", "forwarded", ""},
	"app.web.h2c":                                       {"false", "true"},
	"app.web.headers":                                   {"ietf", "legacy", "both", ""},
	"app.web.legacy-reset":                              {"delta", "epoch", ""},
	"app.web.shutdown.drain":                            {"0s", "1ns", "10m"},
	"app.web.local-limiter.limit":                       {"1", "1000000000", "1000000001"},
	"app.web.local-limiter.window":                      {"1ms", "1500us", "744h", "999us"},
	"app.web.local-limiter.max-subjects":                {"1", "10000000", "0"},
	"app.rate-limit.redis.endpoint":                     {"", "redis://127.0.0.1:1", "redis://[::1]:1/0", "redis://a:1/65535", "redis://a:65536", "redis://a:1/65536", "rediss://a:1", "REDISS://a:1/1"},
	"app.rate-limit.redis.tls.server-name":              {"", "redis.internal", "2001:db8::1", "redis:1"},
	"app.rate-limit.redis.hmac-secret":                  {"0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcde"},
	"app.rate-limit.redis.username":                     {"", "weir"},
	"app.rate-limit.redis.password":                     {"", "secret"},
	"app.rate-limit.redis.command-timeout":              {"1ms", "1500us", "50ms", "1m", "999us"},
	"app.rate-limit.redis.dial-timeout":                 {"1ms", "1500us", "1m", "60001ms"},
	"app.rate-limit.redis.pool-timeout":                 {"1ms", "1500us", "50ms", "1ms1ns"},
	"app.rate-limit.redis.pool-size":                    {"1", "4096", "4097"},
	"app.rate-limit.redis.dispatch":                     {"batched", "pooled", "each"},
	"app.rate-limit.redis.breaker.failures":             {"1", "0", "1000000", "1000001"},
	"app.rate-limit.redis.breaker.open-for":             {"200ms", "1ms", "0s", "1500us", "1m", "61s"},
	"app.rate-limit.admission.max-in-flight":            {"1", "1000000", "1000001"},
	"app.rate-limit.default-policy":                     {"edge", "other"},
	"app.rate-limit.policies.edge.revision":             {"1", "999999999999999"},
	"app.rate-limit.policies.edge.algorithm":            {"fixed-window", "sliding-counter"},
	"app.rate-limit.policies.edge.limit":                {"1", "9007199254", "999999999999999", "1000000000000000"},
	"app.rate-limit.policies.edge.window":               {"1ms", "1500us", "2400h", "87840h", "87841h"},
	"app.rate-limit.policies.edge.max-cost":             {"1", "2"},
	"app.rate-limit.policies.edge.cleanup-grace":        {"0s", "1s", "1500us", "720h"},
	"app.rate-limit.policies.edge.max-clock-regression": {"0s", "250ms", "1s"},
}

var doubtfulRoutes = []string{
	"[]", `[{pattern: "/a", cost: 1}]`, `[{pattern: "/a", cost: 2}]`, `[{pattern: "/a", policy: edge}]`, `[{pattern: "/a", exempt: true}]`,
	`[{pattern: "a:1/b"}]`, `[{pattern: "a./b"}, {pattern: "A/b"}]`, `[{pattern: "POST\t/a"}, {pattern: "post /a"}]`, `[{pattern: "/a//b"}]`,
	`[{pattern: "/a/{x}"}, {pattern: "/{y}/b"}]`, `[{pattern: ""}]`, `[{pattern: "/{x"}]`,
}

// Ensure that whatever the configuration accepts can be assembled, so that an
// operator never sees a fault without its key.
func TestNew_AcceptsWhatConfigAccepts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := map[bool]int{}
	keys := slices.Sorted(maps.Keys(doubtful))
	for range 200 {
		yaml := "app: {web: {routes: " + doubtfulRoutes[random.IntN(len(doubtfulRoutes))] + "}}"
		var set []string
		for _, key := range keys {
			set = append(set, key+"="+doubtful[key][0])
		}
		if random.IntN(2) > 0 {
			set = append(set, "app.rate-limit.redis.endpoint=redis://127.0.0.1:1")
		}
		for range random.IntN(5) { // few changes, so that much is accepted
			key := keys[random.IntN(len(keys))]
			set = append(set, key+"="+doubtful[key][random.IntN(len(doubtful[key]))])
		}
		cfg, _, err := config.Load(config.Sources{
			File: "weir.yaml", Set: set, ReadFile: func(string) ([]byte, error) { return []byte(yaml), nil },
		})
		if err != nil {
			continue
		}
		accepted[cfg.RateLimit.Enabled()]++
		app, err := New(cfg, nil)
		if err != nil {
			t.Fatalf("accepted, and then: %v\n%s\n%q", err, yaml, set)
		}
		if err := app.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if accepted[true] < 15 || accepted[false] < 15 {
		t.Errorf("too few were accepted to say anything: %v", accepted)
	}
}

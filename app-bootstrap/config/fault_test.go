package config_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/weir/app-bootstrap/config"
)

// secureEndpoint replaces the one of enabled.
const secureEndpoint = "app.rate-limit.redis.endpoint=rediss://127.0.0.1:6379"

// Ensure that each mistake is reported, alone, under the key that was written.
func TestLoad_Faults(t *testing.T) {
	policy := func(text string) string {
		return enabled + "      other: {" + text + "}\n"
	}
	const common = "revision: 1, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms"
	web := func(text string) string { return "app: {web: {" + text + "}}" }
	for _, test := range []struct {
		name, yaml string
		set        []string
		want       []string // all faults
	}{
		{"unknown key", web("adress: x"), nil,
			[]string{"app.web.adress: is not a known key, did you mean app.web.address?"}},
		{"known key in the wrong place", "app: {rate-limit: {pool-size: 5}}", nil,
			[]string{"app.rate-limit.pool-size: is not a known key, did you mean app.rate-limit.redis.pool-size?"}},
		{"unknown key that resembles none", web("colour: x"), nil,
			[]string{"app.web.colour: is not a known key"}},
		{"unknown key of a policy", policy(common + ", algorithm: fixed-window, limit: 5, window: 1s, limt: 5"), nil,
			[]string{"app.rate-limit.policies.other.limt: is not a known key, did you mean app.rate-limit.policies.other.limit?"}},
		{"unknown key of a route", web(`routes: [{pattern: "/a"}, {pattern: "/b", patern: x}]`), nil,
			[]string{"app.web.routes[1].patern: is not a known key, did you mean app.web.routes[1].pattern?"}},
		{"unknown section", "{app: {}, ap: {web: {}}}", nil,
			[]string{"ap: is not a known key, did you mean app?"}},
		{"another case", web("Address: 127.0.0.1:1"), nil,
			[]string{"app.web.Address: is not a known key, did you mean app.web.address?"}},
		{"dotted key", "app.web: {address: 127.0.0.1:1}", nil,
			[]string{"app.web: is written with dots in one key, must be nested"}},

		{"null section", "app: {rate-limit: {redis: }}", nil,
			[]string{"app.rate-limit.redis: has no value"}},
		{"null value", web("address: ~"), nil,
			[]string{"app.web.address: has no value"}},
		{"null item", web("routes: [~]"), nil,
			[]string{"app.web.routes[0]: has no value"}},
		{"value for a section", web("shutdown: 10s"), nil,
			[]string{"app.web.shutdown: must be a section with keys of its own"}},
		{"section for a value", web("address: {host: x}"), nil,
			[]string{"app.web.address: must be text; put it in quotes", "app.web.address.host: is not a known key"}},
		{"value for the root", "app: 5", nil,
			[]string{"app: must be a section with keys of its own"}},
		{"number for text", web("headers: 5"), nil,
			[]string{"app.web.headers: must be text; put it in quotes"}},
		{"list for a value", web("headers: [ietf]"), nil,
			[]string{"app.web.headers: must be text; put it in quotes"}},
		{"value for a list of entries", "", []string{"app.web.routes=/a"},
			[]string{"app.web.routes: must be a list of entries, which only the file can hold"}},
		{"section for a list", web("routes: {a: b}"), nil,
			[]string{"app.web.routes: must be a list", "app.web.routes.a: is not a known key"}},
		{"number in a list of text", web("subject: {trusted-proxies: [10]}"), nil,
			[]string{"app.web.subject.trusted-proxies[0]: must be text; put it in quotes"}},
		{"yes for a boolean", "app: {rate-limit: {required: yes}}", nil,
			[]string{"app.rate-limit.required: must be true or false"}},
		{"fraction", web("local-limiter: {limit: 1.5}"), nil,
			[]string{"app.web.local-limiter.limit: must be a whole number in decimal digits, such as 100"}},
		{"integer beyond the range", web("local-limiter: {limit: 99999999999999999999}"), nil,
			[]string{"app.web.local-limiter.limit: must be 1 to 1000000000"}},
		{"unsigned integer beyond the range", web("local-limiter: {limit: 18446744073709551615}"), nil,
			[]string{"app.web.local-limiter.limit: must be 1 to 1000000000"}},
		{"no integer at all", "", []string{"app.web.local-limiter.limit="},
			[]string{"app.web.local-limiter.limit: must be a whole number in decimal digits, such as 100"}},
		{"duration without unit", web("evaluation-deadline: 5"), nil,
			[]string{"app.web.evaluation-deadline: must be a duration with a unit, such as 250ms, 10s or 1m30s"}},
		{"duration without unit, in quotes", web(`evaluation-deadline: "60"`), nil,
			[]string{"app.web.evaluation-deadline: must be a duration with a unit, such as 250ms, 10s or 1m30s"}},
		{"zero duration without unit", web(`shutdown: {delay: "0"}`), nil,
			[]string{"app.web.shutdown.delay: must be a duration with a unit, such as 250ms, 10s or 1m30s"}},
		{"calendar duration", web("local-limiter: {window: 1mo}"), nil,
			[]string{"app.web.local-limiter.window: must be a duration with a unit, such as 250ms, 10s or 1m30s"}},

		{"address without port", web("address: localhost"), nil,
			[]string{"app.web.address: must be host:port, such as 127.0.0.1:8080"}},
		{"port beyond the range", web(`management-address: "localhost:65536"`), nil,
			[]string{"app.web.management-address: must end in a port number, 0 to 65535"}},
		{"one address for both", web("address: 127.0.0.1:8081"), nil,
			[]string{"app.web.management-address: is taken by app.web.address, must be another address"}},
		{"every interface covers the other", web(`address: ":8081"`), nil,
			[]string{"app.web.management-address: is taken by app.web.address, must be another address"}},
		{"open management without token", web("management-address: 0.0.0.0:8081"), nil,
			[]string{"app.web.management-token-file: must be given, because app.web.management-address is no loopback address"}},
		{"token that no header can carry", web(`management-token: "a b"`), nil,
			[]string{"app.web.management-token: must be visible ASCII characters, because it is sent in a header"}},
		{"upstream", web("upstream: http://u:hunter2@127.0.0.1:9000"), nil,
			[]string{"app.web.upstream: must have no user and no password"}},
		{"upstream with a path", web("upstream: http://127.0.0.1:9000/base"), nil,
			[]string{"app.web.upstream: must have no path, since paths are sent on as they come"}},
		{"upstream is the listener", web("upstream: http://127.0.0.1:8080"), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is the listener by name", web("upstream: http://LocalHost:8080"), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is the listener in the other form", web(`upstream: "http://[::ffff:127.0.0.1]:8080"`), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is every interface", web("upstream: http://0.0.0.0:8080"), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is among all interfaces", web(`address: ":8080", upstream: "http://[::1]:8080"`), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is the listener by a name of its own", web(`address: "app.internal:8080", upstream: "http://App.internal:8080"`), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is the listener by the port of its scheme", web(`address: "localhost:443", upstream: "https://127.0.0.1"`), nil,
			[]string{"app.web.upstream: leads to app.web.address, must be the address of the application"}},
		{"upstream is the management listener", web("upstream: http://localhost:8081"), nil,
			[]string{"app.web.upstream: leads to app.web.management-address, must be the address of the application"}},
		{"upstream is the listener for proxies", web(`authorize-address: "127.0.0.1:8082", upstream: "http://127.0.0.1:8082"`), nil,
			[]string{"app.web.upstream: leads to app.web.authorize-address, must be the address of the application"}},
		{"one address by name and number", web("address: localhost:8081"), nil,
			[]string{"app.web.management-address: is taken by app.web.address, must be another address"}},
		{"gateway", web(`upstream: "http://127.0.0.1:9000", gateway: {dial-timeout: 0s, tls-timeout: 2m, response-header-timeout: 25h, idle-timeout: 1ns, max-idle-connections: 0, ca-file: nowhere, server-name: app, health-path: healthz, forwarded: both}`), nil, []string{
			"app.web.gateway.ca-file: names a file that cannot be read: file does not exist",
			"app.web.gateway.dial-timeout: is 0s, must be 1ms to 1m0s",
			`app.web.gateway.forwarded: is "both", must be x-forwarded or forwarded`,
			"app.web.gateway.health-path: must be a path such as /healthz",
			"app.web.gateway.idle-timeout: is 1ns, must be 1ms to 1h0m0s",
			"app.web.gateway.max-idle-connections: is 0, must be 1 to 65536",
			"app.web.gateway.response-header-timeout: is 25h0m0s, must be 1ms to 24h0m0s",
			"app.web.gateway.server-name: must be empty, because the upstream is not https",
			"app.web.gateway.tls-timeout: is 2m0s, must be 1ms to 1m0s",
		}},
		{"gateway words", web(`upstream: "https://app", gateway: {h2c: true, forwarded: ""}`), nil, []string{
			"app.web.gateway.forwarded: must be x-forwarded or forwarded",
			"app.web.gateway.h2c: must be false, because the upstream is https and agrees on HTTP/2 by itself",
		}},
		{"authorities that are none", web(`upstream: "https://app", gateway: {ca-file: hmac}`), nil,
			[]string{"app.web.gateway.ca-file: names a file without a certificate in PEM form"}},
		{"certificate without key", web("tls: {cert-file: hmac}"), nil,
			[]string{"app.web.tls.key-file: must be given, because app.web.tls.cert-file is"}},
		{"key without certificate", web("tls: {key-file: hmac}"), nil,
			[]string{"app.web.tls.cert-file: must be given, because app.web.tls.key-file is"}},
		{"certificate and key that cannot be read", web("tls: {cert-file: nowhere, key-file: nowhere}"), nil, []string{
			"app.web.tls.cert-file: names a file that cannot be read: file does not exist",
			"app.web.tls.key-file: names a file that cannot be read: file does not exist",
		}},
		{"certificate that is none", web("tls: {cert-file: hmac, key-file: hmac}"), nil,
			[]string{"app.web.tls.cert-file: does not go with app.web.tls.key-file: tls: failed to find any PEM data in certificate input"}},
		{"subject source", web("subject: {source: cookie}"), nil,
			[]string{`app.web.subject.source: is "cookie", must be client-ip or header:<Name>`}},
		{"subject that is logged", web(`subject: {source: "header:x-request-id"}`), nil,
			[]string{"app.web.subject.source: names X-Request-Id, which is logged and repeated in answers and so must not identify a client"}},
		{"subject header", web(`subject: {source: "header:X Y"}`), nil,
			[]string{`app.web.subject.source: names "X Y", which cannot be the name of a header`}},
		{"missing", web("subject: {missing: ignore}"), nil,
			[]string{`app.web.subject.missing: is "ignore", must be reject or client-ip`}},
		{"trusted proxy", web("subject: {trusted-proxies: [10.0.0.0/8, everybody]}"), nil,
			[]string{`app.web.subject.trusted-proxies[1]: is "everybody", must be an address or a CIDR prefix`}},
		{"subject's list of hops", web("subject: {forwarded: x-real-ip}"), nil,
			[]string{`app.web.subject.forwarded: is "x-real-ip", must be x-forwarded-for or forwarded`}},
		{"no list of hops", web(`subject: {forwarded: ""}`), nil,
			[]string{"app.web.subject.forwarded: must be x-forwarded-for or forwarded"}},
		{"IPv6 prefix too wide", web("subject: {ipv6-prefix: 31}"), nil,
			[]string{"app.web.subject.ipv6-prefix: is 31, must be 32 to 128"}},
		{"IPv6 prefix too narrow", web("subject: {ipv6-prefix: 129}"), nil,
			[]string{"app.web.subject.ipv6-prefix: is 129, must be 32 to 128"}},
		{"no IPv6 prefix", web("subject: {ipv6-prefix: 0}"), nil,
			[]string{"app.web.subject.ipv6-prefix: is 0, must be 32 to 128"}},
		{"IPv6 prefix with a slash", web("subject: {ipv6-prefix: /64}"), nil,
			[]string{"app.web.subject.ipv6-prefix: must be a whole number in decimal digits, such as 100"}},
		{"origins", web(`cors: {allowed-origins: ["https://example.org", "https://example.org/", example.org, "*"]}`), nil, []string{
			`app.web.cors.allowed-origins[1]: is "https://example.org/", must be written as browsers send it, such as https://example.org`,
			`app.web.cors.allowed-origins[2]: is "example.org", must be an origin such as https://example.org`,
			`app.web.cors.allowed-origins[3]: is "*", which must stand alone`,
		}},
		{"words", web("headers: none, legacy-reset: never, default-route: allow, preflight: maybe"), nil, []string{
			"app.web.default-route: must be default or reject",
			"app.web.headers: must be ietf, legacy or both",
			"app.web.legacy-reset: must be delta or epoch",
			"app.web.preflight: must be exempt or count",
		}},
		{"durations out of range", web("evaluation-deadline: 2m, shutdown: {delay: -1s, drain: 1h}"), nil, []string{
			"app.web.evaluation-deadline: is 2m0s, must be 1ms to 1m0s",
			"app.web.shutdown.delay: is -1s, must be 0s to 5m0s",
			"app.web.shutdown.drain: is 1h0m0s, must be 0s to 10m0s",
		}},
		{"local limiter", web("local-limiter: {limit: 0, window: 0s, max-subjects: 0}"), nil, []string{
			"app.web.local-limiter.limit: is 0, must be 1 to 1000000000",
			"app.web.local-limiter.max-subjects: is 0, must be 1 to 10000000",
			"app.web.local-limiter.window: is 0s, must be 1ms to 744h0m0s",
		}},
		{"routes", enabled + `
  web:
    routes: [{pattern: "GET /a", policy: nobody}, {pattern: nonsense}, {pattern: /b, cost: 0}, {pattern: /c, cost: 11}, {pattern: /d, exempt: true, cost: 1}, {policy: edge}]
`, nil, []string{
			`app.web.routes[0].policy: there is no policy "nobody"`,
			`app.web.routes[1].pattern: parsing "nonsense": at offset 0: host/path missing /`,
			"app.web.routes[2].cost: is 0, must be at least 1",
			"app.web.routes[3].cost: is 11, must be 1 to 10",
			"app.web.routes[4].exempt: an exempt route has neither policy nor cost",
			"app.web.routes[5].pattern: must be given, such as POST /quotes",
		}},
		{"pattern with the port of its host", web(`routes: [{pattern: "localhost:8080/a"}]`), nil,
			[]string{"app.web.routes[0].pattern: must name its host without a port, since hosts are compared without theirs"}},
		{"faulty routes while limiting is disabled", web(`routes: [{pattern: /a, exempt: true, policy: p}, {pattern: /b, exempt: true, cost: 2}, {pattern: /c, cost: -1}, {pattern: ""}]`), nil, []string{
			"app.web.routes[0].exempt: an exempt route has neither policy nor cost",
			"app.web.routes[1].exempt: an exempt route has neither policy nor cost",
			"app.web.routes[2].cost: is -1, must be 1 to 999999999999999",
			"app.web.routes[3].pattern: must be given, such as POST /quotes",
		}},
		{"cost beyond the range", enabled + `
  web:
    routes: [{pattern: /a, cost: 99999999999999999999}, {pattern: /b, cost: -99999999999999999999}]
`, nil, []string{
			"app.web.routes[0].cost: must be 1 to 10",
			"app.web.routes[1].cost: must be 1 to 10",
		}},
		{"route of a faulty policy", enabled + `
      other: {` + common + `, algorithm: fixed-window, limit: 0, window: 1s}
  web:
    routes: [{pattern: "GET /a", policy: other}]
`, nil, []string{"app.rate-limit.policies.other.limit: is 0, must be 1 to 999999999999999"}},

		{"limiting required and no endpoint", "app: {rate-limit: {required: true}}", nil,
			[]string{"app.rate-limit.redis.endpoint: must be given, because app.rate-limit.required is true"}},
		{"endpoint alone", `app: {rate-limit: {redis: {endpoint: "redis://h:1"}}}`, nil, []string{
			"app.rate-limit.default-policy: must be given, because app.rate-limit.redis.endpoint is",
			"app.rate-limit.redis.hmac-secret-file: must be given, because app.rate-limit.redis.endpoint is",
		}},
		{"default policy without definition", enabled, []string{"app.rate-limit.default-policy=nobody"},
			[]string{`app.rate-limit.default-policy: names "nobody", which app.rate-limit.policies does not define`}},
		{"deadline that cannot be kept", enabled, []string{"app.web.evaluation-deadline=99ms"},
			[]string{"app.web.evaluation-deadline: is 99ms, must be at least 100ms, the sum of app.rate-limit.redis.pool-timeout and app.rate-limit.redis.command-timeout"}},
		{"only words", enabled, []string{"app.rate-limit.provider=etcd", "app.rate-limit.redis.role=cache", "app.rate-limit.redis.failure-policy=fail-open", "app.rate-limit.redis.dispatch=each"}, []string{
			"app.rate-limit.provider: must be redis",
			"app.rate-limit.redis.dispatch: must be batched or pooled",
			"app.rate-limit.redis.failure-policy: must be fail-closed",
			"app.rate-limit.redis.role: must be coordination",
		}},
		{"numbers out of range", enabled, []string{"app.rate-limit.redis.pool-size=0", "app.rate-limit.admission.max-in-flight=0", "app.rate-limit.redis.dial-timeout=0s", "app.rate-limit.redis.breaker.failures=0", "app.rate-limit.redis.breaker.open-for=61s"}, []string{
			"app.rate-limit.admission.max-in-flight: is 0, must be 1 to 1000000",
			"app.rate-limit.redis.breaker.failures: is 0, must be 1 to 1000000",
			"app.rate-limit.redis.breaker.open-for: is 1m1s, must be 1ms to 1m0s",
			"app.rate-limit.redis.dial-timeout: is 0s, must be 1ms to 1m0s",
			"app.rate-limit.redis.pool-size: is 0, must be 1 to 4096",
		}},
		{"numbers beyond the range", enabled, []string{
			"app.rate-limit.redis.pool-size=99999999999999999999", "app.rate-limit.policies.edge.limit=9223372036854775808", "app.rate-limit.policies.edge.revision=-9223372036854775809",
		}, []string{
			"app.rate-limit.policies.edge.limit: must be 1 to 999999999999999",
			"app.rate-limit.policies.edge.revision: must be 1 to 999999999999999",
			"app.rate-limit.redis.pool-size: must be 1 to 4096",
		}},
		{"numbers beyond the range without effect", "app: {rate-limit: {redis: {pool-size: 9223372036854775808}, admission: {max-in-flight: -1e30}}}", nil, []string{
			"app.rate-limit.admission.max-in-flight: is below the range of whole numbers",
			"app.rate-limit.redis.pool-size: is above the range of whole numbers",
		}},
		{"timeouts that are no whole milliseconds", enabled, []string{
			"app.rate-limit.redis.command-timeout=1500us", "app.rate-limit.redis.dial-timeout=1ms1us", "app.rate-limit.redis.pool-timeout=1ns",
		}, []string{
			"app.rate-limit.redis.command-timeout: is 1.5ms, must be a whole number of milliseconds",
			"app.rate-limit.redis.dial-timeout: is 1.001ms, must be a whole number of milliseconds",
			"app.rate-limit.redis.pool-timeout: is 1ns, must be 1ms to 1m0s",
		}},
		{"user without password", enabled, []string{"app.rate-limit.redis.username=weir"},
			[]string{"app.rate-limit.redis.password-file: must be given, because app.rate-limit.redis.username is"}},
		{"user with a password that cannot be read", enabled, []string{"app.rate-limit.redis.username=weir", "app.rate-limit.redis.password-file=nowhere"},
			[]string{"app.rate-limit.redis.password-file: names a file that cannot be read: file does not exist"}},
		{"TLS in clear", enabled, []string{
			"app.rate-limit.redis.tls.ca-file=nowhere", "app.rate-limit.redis.tls.server-name=redis", "app.rate-limit.redis.tls.cert-file=nowhere", "app.rate-limit.redis.tls.key-file=nowhere",
		}, []string{
			"app.rate-limit.redis.tls.ca-file: must be empty, because app.rate-limit.redis.endpoint is not rediss://",
			"app.rate-limit.redis.tls.cert-file: must be empty, because app.rate-limit.redis.endpoint is not rediss://",
			"app.rate-limit.redis.tls.key-file: must be empty, because app.rate-limit.redis.endpoint is not rediss://",
			"app.rate-limit.redis.tls.server-name: must be empty, because app.rate-limit.redis.endpoint is not rediss://",
		}},
		{"TLS with files that cannot be read", enabled, []string{
			secureEndpoint, "app.rate-limit.redis.tls.ca-file=nowhere", "app.rate-limit.redis.tls.cert-file=nowhere", "app.rate-limit.redis.tls.key-file=nowhere",
		}, []string{
			"app.rate-limit.redis.tls.ca-file: names a file that cannot be read: file does not exist",
			"app.rate-limit.redis.tls.cert-file: names a file that cannot be read: file does not exist",
			"app.rate-limit.redis.tls.key-file: names a file that cannot be read: file does not exist",
		}},
		{"TLS with files that hold something else", enabled, []string{
			secureEndpoint, "app.rate-limit.redis.tls.ca-file=hmac", "app.rate-limit.redis.tls.cert-file=hmac", "app.rate-limit.redis.tls.key-file=hmac",
		}, []string{
			"app.rate-limit.redis.tls.ca-file: names a file without a certificate in PEM form",
			"app.rate-limit.redis.tls.cert-file: does not go with app.rate-limit.redis.tls.key-file: tls: failed to find any PEM data in certificate input",
		}},
		{"TLS with a certificate and no key", enabled, []string{secureEndpoint, "app.rate-limit.redis.tls.cert-file=hmac"},
			[]string{"app.rate-limit.redis.tls.key-file: must be given, because app.rate-limit.redis.tls.cert-file is"}},
		{"TLS with a key and no certificate", enabled, []string{secureEndpoint, "app.rate-limit.redis.tls.key-file=hmac"},
			[]string{"app.rate-limit.redis.tls.cert-file: must be given, because app.rate-limit.redis.tls.key-file is"}},
		{"TLS with a name that none is", enabled, []string{secureEndpoint, "app.rate-limit.redis.tls.server-name=redis:6379"},
			[]string{"app.rate-limit.redis.tls.server-name: must be a host name such as redis.internal"}},
		{"TLS with an endpoint that none is", enabled, []string{"app.rate-limit.redis.endpoint=rediss://redis", "app.rate-limit.redis.tls.ca-file=nowhere"},
			[]string{"app.rate-limit.redis.endpoint: must be redis://host:port or rediss://host:port, with /db or without"}},
		{"secret in both places", enabled, []string{"app.rate-limit.redis.hmac-secret=" + secret},
			[]string{"app.rate-limit.redis.hmac-secret: is set together with app.rate-limit.redis.hmac-secret-file, keep one of them"}},
		{"secret too short", enabled, []string{"app.rate-limit.redis.hmac-secret-file=", "app.rate-limit.redis.hmac-secret=hunter2"},
			[]string{"app.rate-limit.redis.hmac-secret: secret has 7 bytes, needs at least 32"}},
		{"file of a secret that does not exist", enabled, []string{"app.rate-limit.redis.password-file=hunter2"},
			[]string{"app.rate-limit.redis.password-file: names a file that cannot be read: file does not exist"}},

		{"empty policy", policy(""), nil, []string{
			"app.rate-limit.policies.other.algorithm: must be given",
			"app.rate-limit.policies.other.cleanup-grace: must be given",
			"app.rate-limit.policies.other.max-clock-regression: must be given",
			"app.rate-limit.policies.other.max-cost: must be given",
			"app.rate-limit.policies.other.revision: must be given",
		}},
		{"unknown algorithm", policy(common + ", algorithm: leaky-bucket"), nil,
			[]string{"app.rate-limit.policies.other.algorithm: must be fixed-window, sliding-counter, sliding-log or token-bucket"}},
		{"window of a bucket", policy(common + ", algorithm: token-bucket, capacity: 5, refill-tokens: 1, refill-interval: 1s, window: 1s, limit: 5"), nil, []string{
			"app.rate-limit.policies.other.limit: does not belong to algorithm token-bucket",
			"app.rate-limit.policies.other.window: does not belong to algorithm token-bucket",
		}},
		{"capacity of a window", policy(common + ", algorithm: sliding-counter, limit: 5, window: 1s, capacity: 5, refill-tokens: 1, refill-interval: 1s"), nil, []string{
			"app.rate-limit.policies.other.capacity: does not belong to algorithm sliding-counter",
			"app.rate-limit.policies.other.refill-interval: does not belong to algorithm sliding-counter",
			"app.rate-limit.policies.other.refill-tokens: does not belong to algorithm sliding-counter",
		}},
		{"limit of a log", policy(common + ", algorithm: sliding-log, limit: 10001, window: 1s, capacity: 5"), nil, []string{
			"app.rate-limit.policies.other.capacity: does not belong to algorithm sliding-log",
			"app.rate-limit.policies.other.limit: is 10001, must be 1 to 10000",
		}},
		{"missing and unreadable values side by side", policy("revision: 0, algorithm: fixed-window, limit: lots, max-cost: 5, cleanup-grace: 1m, max-clock-regression: 250ms"), nil, []string{
			"app.rate-limit.policies.other.limit: must be a whole number in decimal digits, such as 100",
			"app.rate-limit.policies.other.revision: is 0, must be 1 to 999999999999999",
			"app.rate-limit.policies.other.window: must be given",
		}},
		{"default policy that cannot be read", "app: {rate-limit: {default-policy: edge, redis: {endpoint: \"redis://h:1\", hmac-secret-file: hmac}, policies: {edge: 5}}}", nil,
			[]string{"app.rate-limit.policies.edge: must be a section with keys of its own"}},
		{"name of a policy", enabled + "      Other: {" + common + ", algorithm: fixed-window, limit: 5, window: 1s}\n", nil,
			[]string{"app.rate-limit.policies.Other: is no name for a policy, must match ^[a-z][a-z0-9-]{0,62}$"}},

		{"set without value", "", []string{"app.web.address", "=x"},
			[]string{"--set: number 1 must be key=value", "--set: number 2 must be key=value"}},
		{"set of an unknown key", "", []string{"web.address=x"},
			[]string{"web: is not a known key, did you mean app.web? (from --set)"}},
		{"set of a value and inside it", "", []string{"app.web.shutdown=5s", "app.web.shutdown.delay=5s"},
			[]string{"app.web.shutdown: is given a value, and so is app.web.shutdown.delay inside it"}},
		{"set of odd keys", "", []string{"app.=1", "app..x=1", ".=1"},
			[]string{".: is not a known key", "app.: is not a known key", "app..x: is not a known key"}},

		{"duplicate key", "app:\n  web: {}\n  web: {}\n", nil,
			[]string{`--config: weir.yaml is not valid YAML: line 3: mapping key "web" already defined at line 2`}},
		{"several documents", "app: {}\n---\napp: {}\n", nil,
			[]string{"--config: weir.yaml holds more than one YAML document, must hold one"}},
		{"no mapping", "- app", nil,
			[]string{"--config: weir.yaml must be a YAML mapping that begins with app:"}},
		{"larger than it may be", "#" + strings.Repeat("x", config.MaxFileBytes), nil,
			[]string{"--config: cannot read weir.yaml: larger than 1048576 bytes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := load(test.yaml, test.set...)
			if got := faultsOf(t, err).Error(); got != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(test.want, "\n"))
			}
		})
	}
}

// Ensure that an integer is written in one way, in the file as in the other
// layers, so that no reader takes it for another number.
func TestLoad_WritingOfIntegers(t *testing.T) {
	const key = "app.web.local-limiter.limit"
	for text, good := range map[string]bool{
		"100": true, "1": true,
		"0100": false, "00": false, "0o100": false, "0x10": false, "0b11": false, "1_000": false, "1__0": false,
		"+100": false, "-0100": false, "1e3": false, "1.0": false, "!!int 0100": false, `!!int "0x10"`: false,
	} {
		t.Run(text, func(t *testing.T) {
			yaml := "app: {web: {local-limiter: {limit: " + text + "}}}"
			_, _, inFile := load(yaml)
			_, _, inAlias := load("app: {web: {local-limiter: {max-subjects: &n " + text + ", limit: *n}}}")
			_, _, inSet := load("", key+"="+text)
			_, _, inEnvironment := config.Load(config.Sources{Environ: []string{"APP_WEB__LOCAL_LIMITER__LIMIT=" + text}})
			for layer, err := range map[string]error{"file": inFile, "alias": inAlias, "set": inSet, "environment": inEnvironment} {
				if good != (err == nil) {
					t.Errorf("%s: %v", layer, err)
				}
				if want := key + ": must be a whole number in decimal digits, such as 100"; !good && err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want %s", layer, err, want)
				}
			}
		})
	}
}

// Ensure that digits are no integer where a key wants text.
func TestLoad_DigitsForText(t *testing.T) {
	_, _, err := load(`app: {web: {management-token: 0100}}`)
	if got, want := faultsOf(t, err).Error(), "app.web.management-token: must be text; put it in quotes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Ensure that faults of all layers and sections come in one message, and that
// an unknown key says from which variable it came.
func TestLoad_AllFaultsAtOnce(t *testing.T) {
	_, _, err := config.Load(config.Sources{
		File:    "weir.yaml",
		Environ: []string{"APP_WEB__ADRESS=x", "APP_CACHE__X=1"},
		Set:     []string{"app.rate-limit.redis.pool-size=0"},
		ReadFile: files{"weir.yaml": `
app:
  web: {address: nonsense, evaluation-deadline: 5, shutdown: }
  rate-limit: {redis: {endpoint: "http://h"}}
`}.read,
	})
	var keys []string
	for _, fault := range faultsOf(t, err) {
		keys = append(keys, fault.Key)
	}
	want := []string{
		"app.cache",
		"app.rate-limit.default-policy",
		"app.rate-limit.redis.endpoint",
		"app.rate-limit.redis.hmac-secret-file",
		"app.rate-limit.redis.pool-size",
		"app.web.address",
		"app.web.adress",
		"app.web.evaluation-deadline",
		"app.web.shutdown",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("faults of %q, want %q\n%v", keys, want, err)
	}
	if !strings.Contains(err.Error(), "app.web.adress: is not a known key, did you mean app.web.address? (from APP_WEB__ADRESS)") {
		t.Errorf("no origin in\n%v", err)
	}
}

// Ensure that an endpoint is refused unless it is plain, and never repeated.
func TestLoad_Endpoint(t *testing.T) {
	for _, test := range []struct {
		endpoint string
		good     bool
	}{
		{"redis://127.0.0.1:6379", true},
		{"redis://redis.internal:6379/15", true},
		{"redis://[::1]:6379/0", true},
		{"redis://hunter2@h:1", false},
		{"redis://user:hunter2@h:1/0", false},
		{"redis://h:1/0?password=hunter2", false},
		{"redis://h:1?", false},
		{"redis://h:1#hunter2", false},
		{"redis://h", false},
		{"redis://:6379", false},
		{"redis://h:0", false},
		{"redis://h:1/hunter2", false},
		{"redis://h:1/-1", false},
		{"rediss://h:1", true},
		{"rediss://h:1/3", true},
		{"rediss://hunter2@h:1", false},
		{"redisss://h:1", false},
		{"unix:///tmp/hunter2", false},
		{"hunter2", false},
		{"redis://h:hunter2", false},
		{"redis://hunter2%zz@h:1", false},
	} {
		t.Run(test.endpoint, func(t *testing.T) {
			_, _, err := load(enabled, "app.rate-limit.redis.endpoint="+test.endpoint)
			if test.good {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			faults := faultsOf(t, err)
			if len(faults) != 1 || faults[0].Key != "app.rate-limit.redis.endpoint" {
				t.Errorf("faults %v", faults)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the endpoint is repeated: %v", err)
			}
		})
	}
}

// Ensure that no message repeats a secret, wherever it was put by mistake.
func TestLoad_FaultsHoldNoSecret(t *testing.T) {
	redis := func(text string) string {
		return `app: {rate-limit: {redis: {endpoint: "redis://h:1", ` + text + `}}}`
	}
	for name, yaml := range map[string]string{
		"as a list":              redis("password: [hunter2]"),
		"as a section":           redis("password: {x: hunter2}"),
		"too short":              redis("hmac-secret: hunter2"),
		"for a number":           redis("pool-size: hunter2"),
		"for a duration":         redis("dial-timeout: hunter2"),
		"for a path":             redis("hmac-secret-file: hunter2"),
		"as an alias":            redis("password: *hunter2"),
		"as a tag":               redis("password: !!int hunter2"),
		"as the document":        "hunter2",
		"after a tab":            "app:\n\thunter2: x",
		"in broken quotes":       redis(`password: "hunter2`),
		"for a section":          "app: {rate-limit: {redis: hunter2}}",
		"as a token with blanks": `app: {web: {management-token: "hunter2 "}}`,
		"for a boolean":          "app: {rate-limit: {required: hunter2}}",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(yaml)
			if text := faultsOf(t, err).Error(); strings.Contains(text, "hunter2") {
				t.Errorf("the secret is in\n%s", text)
			}
		})
	}
	t.Run("in a torn set", func(t *testing.T) {
		_, _, err := load("", "hunter2", "=hunter2")
		if text := faultsOf(t, err).Error(); strings.Contains(text, "hunter2") {
			t.Errorf("the secret is in\n%s", text)
		}
	})
}

// Ensure that a secret's file is bounded and holds something.
func TestLoad_SecretFileBounds(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"empty", "", "app.web.management-token-file: names a file that is empty"},
		{"only a newline", "\n", "app.web.management-token-file: names a file that is empty"},
		{"two newlines", "x\n\n", "app.web.management-token-file: must be visible ASCII characters, because it is sent in a header"},
		{"too large", strings.Repeat("x", config.MaxSecretBytes+1), "app.web.management-token-file: names a file that cannot be read: larger than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := config.Load(config.Sources{
				Set:      []string{"app.web.management-token-file=token"},
				ReadFile: files{"token": test.content}.read,
			})
			if got := faultsOf(t, err).Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

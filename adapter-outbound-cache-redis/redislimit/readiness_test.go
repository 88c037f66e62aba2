package redislimit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/pseudonym"
)

// fingerprintKey is where the processes of one store compare their secret.
const fingerprintKey = "weir:1:probe:secret:state"

// Ensure that a server which may drop state under pressure is reported, by name,
// and evaluates all the same.
func TestEvictionIsReported(t *testing.T) {
	onDedicated(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", endlessFive)))
		wantUnready(t, limiter, "")
		for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
			if err := admin.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
				t.Fatal(err)
			}
			wantUnready(t, limiter, "maxmemory-policy is "+policy+", must be noeviction")
			wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "allowed")
		}
		admin.ConfigSet(t.Context(), "maxmemory-policy", "noeviction")
		wantUnready(t, limiter, "")
	})
}

// Ensure that a process which does not know the secret of the others is told, and
// only it, for as long as any of the others was seen lately.
func TestAnotherSecretIsReported(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		const finding = "hmac-secret is another one than that of other processes at this redis"
		with := func(secret string) *redislimit.Limiter {
			c := config(t, server.Addr, policySpec("p", endlessFive))
			var err error
			if c.Secret, err = pseudonym.NewSecret([]byte(secret)); err != nil {
				t.Fatal(err)
			}
			return newLimiter(t, c)
		}
		first := with("the secret that all processes have")
		second := with("the secret that all processes have")
		stranger := with("the secret that one of them has got")

		wantUnready(t, first, "")
		wantUnready(t, stranger, finding)
		wantUnready(t, second, "")
		wantUnready(t, first, "")
		for _, limiter := range []*redislimit.Limiter{stranger, first} {
			wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "allowed")
		}

		if ttl := admin.PTTL(t.Context(), fingerprintKey).Val(); ttl <= 0 || ttl > 5*time.Minute {
			t.Errorf("the fingerprint lives for %v, must be up to 5m", ttl)
		}
		// A minute later, when it has not much longer to live.
		shift(t, admin, fingerprintKey, time.Minute)
		admin.PExpire(t.Context(), fingerprintKey, 30*time.Second)
		wantUnready(t, stranger, finding)
		if ttl := admin.PTTL(t.Context(), fingerprintKey).Val(); ttl > 30*time.Second {
			t.Errorf("a process with another secret makes it live for %v", ttl)
		}
		wantUnready(t, second, "")
		if ttl := admin.PTTL(t.Context(), fingerprintKey).Val(); ttl < 3*time.Minute {
			t.Errorf("the fingerprint lives for %v after it was refreshed", ttl)
		}

		admin.Del(t.Context(), fingerprintKey)
		wantUnready(t, stranger, "")
		wantUnready(t, first, finding)
	})
}

// Ensure that the fingerprint never changes: a rolling deployment would report
// itself.
func TestKnownFingerprint(t *testing.T) {
	server := redistest.Primary(t)
	wantUnready(t, newLimiter(t, config(t, server.Addr, policySpec("p", endlessFive))), "")
	const want = "fw1:69446537097869:60000"
	if state := server.Client(t).HGet(t.Context(), fingerprintKey, "s").Val(); !strings.HasPrefix(state, want+" ") {
		t.Errorf("the fingerprint's state is %s, must begin with %s", state, want)
	}
}

// bulk is a bulk string of the protocol.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// Ensure what is made of a server by what it says of itself: unfit, fit, or
// unknown, which is logged once and held against nobody.
func TestInspection(t *testing.T) {
	greets := func(kind, version string) fakeredis.Reply {
		return fakeredis.Reply{Text: "*6\r\n" + bulk("server") + bulk(kind) + bulk("version") + bulk(version) + bulk("proto") + ":2\r\n"}
	}
	keeps := fakeredis.Reply{Text: bulk("# Memory\r\nused_memory:1\r\nmaxmemory_policy:noeviction\r\n")}
	evicts := fakeredis.Reply{Text: bulk("# Memory\r\nused_memory:1\r\nmaxmemory_policy:allkeys-lfu\r\n")}
	refuses := fakeredis.Reply{Text: "-NOPERM this user has no permissions\r\n"}
	const evicting = "maxmemory-policy is allkeys-lfu, must be noeviction"
	for name, test := range map[string]struct {
		hello, info fakeredis.Reply
		want        string
		unknown     int // aspects that are logged
	}{
		"lowest Redis":             {greets("redis", "7.0.0"), keeps, "", 0},
		"newer Redis":              {greets("redis", "10.0.1"), keeps, "", 0},
		"older Redis":              {greets("redis", "6.2.14"), keeps, "the server is redis 6.2.14, must be 7.0 or newer", 0},
		"lowest Valkey":            {greets("valkey", "8.1.0"), keeps, "", 0},
		"older Valkey":             {greets("valkey", "8.0.9"), keeps, "the server is valkey 8.0.9, must be 8.1 or newer", 0},
		"old and evicting":         {greets("redis", "6.2.14"), evicts, "the server is redis 6.2.14, must be 7.0 or newer; " + evicting, 0},
		"another kind":             {greets("other", "1.0.0"), evicts, evicting, 1},
		"no version":               {greets("redis", ""), keeps, "", 1},
		"a version that is none":   {greets("redis", "unstable"), keeps, "", 1},
		"HELLO not understood":     {fakeredis.Reply{Text: "-ERR unknown command 'HELLO'\r\n"}, keeps, "", 1},
		"INFO not allowed":         {greets("redis", "7.0.0"), refuses, "", 1},
		"INFO without a policy":    {greets("redis", "7.0.0"), fakeredis.Reply{Text: bulk("# Memory\r\nused_memory:1\r\n")}, "", 1},
		"neither":                  {fakeredis.Reply{Text: "*0\r\n"}, refuses, "", 2},
		"breaks off, so not ready": {greets("redis", "7.0.0"), fakeredis.Reply{Close: true}, "connection", 0},
	} {
		t.Run(name, func(t *testing.T) {
			polite := fakeredis.Polite(func(_ string, arguments []string) fakeredis.Reply {
				return fakeredis.Reply{Text: allowedAll(arguments)}
			})
			server := fakeredis.Start(t, func(command string, arguments []string) fakeredis.Reply {
				switch command {
				case "HELLO":
					return test.hello
				case "INFO":
					return test.info
				}
				return polite(command, arguments)
			})
			var log memo
			c := config(t, server.Addr, policySpec("p", endlessFive))
			c.Logger = log.logger()
			limiter := newLimiter(t, c)
			for range 2 {
				wantUnready(t, limiter, test.want)
			}
			if n := strings.Count(log.String(), "readiness cannot check it"); n != test.unknown {
				t.Errorf("%d aspects are logged, must be %d:\n%s", n, test.unknown, log.String())
			}
		})
	}
}

// Ensure that the self-test of each program writes what the program can write: only
// then does it show what the server permits.
func TestSelfTestWrites(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", endlessFive)))
		wantUnready(t, limiter, "")
		stats, err := admin.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		// Three hashes and a log, by themselves and as levels, and the mark of the secret.
		for command, calls := range map[string]string{"hset": "7", "zadd": "2"} {
			if !strings.Contains(stats, "cmdstat_"+command+":calls="+calls+",") {
				t.Errorf("%s is not called %s times:\n%s", command, calls, stats)
			}
		}
	})
}

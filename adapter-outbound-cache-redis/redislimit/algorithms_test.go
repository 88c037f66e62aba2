package redislimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// algorithms are one policy of each, with the same quota, of which nothing comes
// back while a test runs.
func algorithms() map[string]ratelimit.Parameters { return algorithmsWith(5) }

func algorithmsWith(quota int64) map[string]ratelimit.Parameters {
	return map[string]ratelimit.Parameters{
		"fixed-window":    ratelimit.FixedWindow{Limit: quota, Window: endlessWindow},
		"sliding-counter": ratelimit.SlidingCounter{Limit: quota, Window: time.Hour},
		"sliding-log":     ratelimit.SlidingLog{Limit: quota, Window: time.Hour},
		"token-bucket":    ratelimit.TokenBucket{Capacity: quota, RefillTokens: quota, RefillInterval: time.Hour},
	}
}

// hourly are algorithms of much the same pace. The hour may end while a test runs.
func hourly() map[string]ratelimit.Parameters {
	all := algorithms()
	all["fixed-window"] = ratelimit.FixedWindow{Limit: 5, Window: time.Hour}
	return all
}

type onAlgorithm func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters)

// eachAlgorithm runs f for every algorithm on every kind of server.
func eachAlgorithm(t *testing.T, f onAlgorithm) { eachOf(t, algorithms(), f) }

func eachOf(t *testing.T, algorithms map[string]ratelimit.Parameters, f onAlgorithm) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for name, parameters := range algorithms {
			t.Run(name, func(t *testing.T) {
				client.FlushAll(t.Context())
				f(t, client, server, parameters)
			})
		}
	})
}

// Ensure that a denied request is admitted exactly when its retry-after says,
// although it was denied, and by its own cost.
func TestAdmitsAtTheAnnouncedTime(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		for name, parameters := range map[string]ratelimit.Parameters{
			"fixed-window":    ratelimit.FixedWindow{Limit: 4, Window: 400 * time.Millisecond},
			"sliding-counter": ratelimit.SlidingCounter{Limit: 4, Window: 400 * time.Millisecond},
			"sliding-log":     ratelimit.SlidingLog{Limit: 4, Window: 400 * time.Millisecond},
			"token-bucket":    ratelimit.TokenBucket{Capacity: 4, RefillTokens: 1, RefillInterval: 100 * time.Millisecond},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				waitAsAnnounced(t, newLimiter(t, config(t, server.Addr, policySpec(name, parameters))), name)
			})
		}
	})
}

func waitAsAnnounced(t *testing.T, limiter *redislimit.Limiter, policyID string) {
	t.Helper()
	one := request(t, policyID, "somebody", 1)
	const enough = 5
	denials := 0
	// On a machine that stands still now and then, there is quota again meanwhile.
	for decisions := 0; denials < enough; decisions++ {
		if decisions == 200 {
			t.Fatalf("only %d denials in %d decisions: the test saw nothing", denials, decisions)
		}
		decision := decide(t, limiter, one)
		if decision.Allowed {
			if decision.RetryAfter != 0 {
				t.Fatalf("an admission says retry after %v", decision.RetryAfter)
			}
			continue
		}
		denials++
		if decision.RetryAfter <= 0 || decision.RetryAfter > 800*time.Millisecond {
			t.Fatalf("retry after %v", decision.RetryAfter)
		}
		// The server's clock may show up to a millisecond less than it is.
		time.Sleep(decision.RetryAfter + time.Millisecond)
		if again := decide(t, limiter, one); !again.Allowed {
			t.Fatalf("denied after waiting the announced %v; now told to wait %v", decision.RetryAfter, again.RetryAfter)
		}
	}
}

// Ensure that exactly the quota is admitted, and that denials leave the key byte
// for byte as it was, its expiry included.
func TestDenialWritesNothing(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", parameters)))
		for want := int64(4); want >= 0; want-- {
			decision := decide(t, limiter, request(t, "p", "somebody", 1))
			if !decision.Allowed || decision.Remaining != want || decision.Limit != 5 {
				t.Fatalf("decision is %+v, must be allowed with %d of 5 remaining", decision, want)
			}
		}
		key := onlyKey(t, client)
		before := image(t, client, key)
		for range 3 {
			decision := decide(t, limiter, request(t, "p", "somebody", 1))
			if decision.Allowed || decision.Remaining != 0 || decision.RetryAfter <= 0 {
				t.Fatalf("decision is %+v, must be denied", decision)
			}
		}
		if image(t, client, key) != before {
			t.Error("a denial changed the key")
		}
	})
}

// Ensure that every key expires, within the program's bound, and that a key that
// lost its expiry gets one again when the design says.
func TestEveryKeyExpires(t *testing.T) {
	const grace = time.Minute
	bounds := map[ratelimit.Algorithm]time.Duration{
		ratelimit.FixedWindowAlgorithm:    time.Hour + grace,
		ratelimit.SlidingCounterAlgorithm: 2*time.Hour + grace,
		ratelimit.SlidingLogAlgorithm:     time.Hour + grace,
		ratelimit.TokenBucketAlgorithm:    time.Hour + 2*grace,
	}
	eachOf(t, hourly(), func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", parameters)))
		check := func(when string) {
			t.Helper()
			bound := bounds[parameters.Algorithm()]
			if ttl := client.PTTL(t.Context(), onlyKey(t, client)).Val(); ttl <= 0 || ttl > bound {
				t.Errorf("%s: expires in %v, must be within %v", when, ttl, bound)
			}
		}
		for range 7 {
			decide(t, limiter, request(t, "p", "somebody", 1))
			check("after an evaluation")
		}
		key := onlyKey(t, client)
		client.Persist(t.Context(), key)
		shift(t, client, key, 2*time.Hour)
		if !decide(t, limiter, request(t, "p", "somebody", 1)).Allowed {
			t.Fatal("denied two windows later")
		}
		check("after PERSIST and a later admission")
	})
}

// Ensure that a clock that ran back by more than the bound is refused, with the
// time that it needs, and that nothing is written.
func TestClockRegression(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", parameters)))
		decide(t, limiter, request(t, "p", "somebody", 1))
		key := onlyKey(t, client)

		shift(t, client, key, -10*time.Second)
		before := image(t, client, key)
		outcome := evaluate(t, limiter, request(t, "p", "somebody", 1))
		wantLabel(t, outcome, "unavailable clock-unsafe")
		if retry := outcome.(ratelimit.Unavailable).RetryAfter; retry < 5*time.Second || retry > 10*time.Second {
			t.Errorf("retry after %v, must be a little under 9.75 s", retry)
		}
		if image(t, client, key) != before {
			t.Error("an unsafe clock changed the key")
		}

		// A bound that bears it: the clock is held at the last admission.
		bearing := policySpec("p", parameters)
		bearing.MaxClockRegression = 20 * time.Second
		limiter = newLimiter(t, config(t, server.Addr, bearing))
		if decision := decide(t, limiter, request(t, "p", "somebody", 1)); !decision.Allowed || decision.Remaining != 3 {
			t.Errorf("decision is %+v, must be allowed with 3 remaining", decision)
		}
	})
}

// Ensure that state that is damaged, foreign or of another type is left alone.
func TestIncompatibleState(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", parameters)))
		for name, damage := range damagesOf(parameters) {
			client.FlushAll(t.Context())
			decide(t, limiter, request(t, "p", "somebody", 1))
			key := onlyKey(t, client)
			damage(t, client, key)
			before := image(t, client, key)
			if got := label(evaluate(t, limiter, request(t, "p", "somebody", 1))); got != "incompatible state" {
				t.Errorf("%s: outcome is %q, must be incompatible", name, got)
			}
			if image(t, client, key) != before {
				t.Errorf("%s: the key was touched", name)
			}
		}
	})
}

// Ensure that an edit of the window or the pace under one revision is refused,
// and that a new revision starts from an empty state.
func TestEditsThatNeedARevision(t *testing.T) {
	edited := map[ratelimit.Algorithm]ratelimit.Parameters{
		ratelimit.FixedWindowAlgorithm:    ratelimit.FixedWindow{Limit: 5, Window: 2 * time.Hour},
		ratelimit.SlidingCounterAlgorithm: ratelimit.SlidingCounter{Limit: 5, Window: 2 * time.Hour},
		ratelimit.SlidingLogAlgorithm:     ratelimit.SlidingLog{Limit: 5, Window: 2 * time.Hour},
		ratelimit.TokenBucketAlgorithm:    ratelimit.TokenBucket{Capacity: 5, RefillTokens: 4, RefillInterval: time.Hour},
	}
	eachAlgorithm(t, func(t *testing.T, _ *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		c := config(t, server.Addr, policySpec("p", parameters))
		limiter := newLimiter(t, c)
		decide(t, limiter, request(t, "p", "somebody", 2))

		spec := policySpec("p", edited[parameters.Algorithm()])
		c.Catalog.Replace(snapshot(t, spec))
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "incompatible state")

		spec.Revision = 2
		c.Catalog.Replace(snapshot(t, spec))
		if decision := decide(t, limiter, request(t, "p", "somebody", 1)); decision.Remaining != 4 {
			t.Errorf("a new revision starts with %d remaining after one, must be 4", decision.Remaining)
		}
	})
}

// Ensure that a limit that is raised or lowered under one revision takes effect
// at once and keeps what was spent.
func TestLimitEditsKeepUsage(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, _ *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		c := config(t, server.Addr, policySpec("p", parameters))
		limiter := newLimiter(t, c)
		admitted := func() (n int) {
			for n = 0; n < 100 && decide(t, limiter, request(t, "p", "somebody", 1)).Allowed; n++ {
			}
			return n
		}
		if n := admitted(); n != 5 {
			t.Fatalf("%d admitted, must be 5", n)
		}
		c.Catalog.Replace(snapshot(t, policySpec("p", resized(t, parameters, 12))))
		if n := admitted(); n != 7 {
			t.Errorf("raised by 7: %d more admitted", n)
		}
		c.Catalog.Replace(snapshot(t, policySpec("p", resized(t, parameters, 3))))
		if decision := decide(t, limiter, request(t, "p", "somebody", 1)); decision.Allowed || decision.Remaining != 0 || decision.Limit != 3 {
			t.Errorf("lowered below usage: decision is %+v", decision)
		}
	})
}

// resized are parameters with another quota.
func resized(t *testing.T, parameters ratelimit.Parameters, quota int64) ratelimit.Parameters {
	t.Helper()
	changed, err := policy(t, policySpec("p", parameters)).WithQuota(quota)
	if err != nil {
		t.Fatal(err)
	}
	return changed.Parameters()
}

// Ensure the token bucket's documented sequence: ten tokens, one per three
// seconds, asked every second from full.
func TestTokenBucketSequence(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p",
			ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: 3 * time.Second})))
		for attempts := 1; !askEverySecond(t, limiter, client); attempts++ {
			if attempts == 20 {
				t.Fatalf("this machine stood still for a second in each of %d attempts", attempts)
			}
			client.FlushAll(t.Context())
		}
	})
}

// askEverySecond plays the sequence. It returns false if the machine stood still, so
// that a request came a second later than it was to.
func askEverySecond(t *testing.T, limiter *redislimit.Limiter, client *redis.Client) bool {
	t.Helper()
	const denied = -1
	var key string
	var began time.Time // on the server's clock
	var shifted time.Duration
	for second, want := range []int64{9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2, 1, 1, 0, denied, 0, denied, denied, 0, denied, denied, 0} {
		if second > 0 {
			now := client.Time(t.Context()).Val().Truncate(time.Millisecond)
			by := time.Duration(second)*time.Second - now.Sub(began) - shifted
			shift(t, client, key, by)
			shifted += by
		}
		decision := decide(t, limiter, request(t, "p", "somebody", 1))
		decided := decision.ResetAt.Add(-decision.ResetAfter)
		if second == 0 {
			key, began = onlyKey(t, client), decided
		}
		if passed := decided.Sub(began) + shifted; passed >= time.Duration(second+1)*time.Second {
			return false
		}
		if decision.Allowed != (want != denied) || decision.Allowed && decision.Remaining != want {
			t.Fatalf("second %d: allowed %v, %d remaining; must be %d", second, decision.Allowed, decision.Remaining, want)
		}
	}
	return true
}

// Ensure the sliding counter's documented example: 100 per window, 50 spent in
// the previous one, 10 in this, exactly a tenth in.
func TestSlidingCounterExample(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		spec := policySpec("p", ratelimit.SlidingCounter{Limit: 100, Window: time.Minute})
		spec.CleanupGrace, spec.MaxClockRegression = time.Hour, time.Hour
		limiter := newLimiter(t, config(t, server.Addr, spec))

		// A last admission in the near future, which the bound bears, holds the
		// clock at that moment: a tenth into a window that is to come.
		decide(t, limiter, request(t, "p", "somebody", 1))
		now := client.Time(t.Context()).Val()
		moment := now.Truncate(time.Minute).Add(5*time.Minute + 6*time.Second)
		client.HSet(t.Context(), onlyKey(t, client), "s", fmt.Sprintf("sc1:1:60000 50 0 %d", moment.UnixMilli()))

		if decision := decide(t, limiter, request(t, "p", "somebody", 10)); decision.Remaining != 45 {
			t.Fatalf("%d remaining, must be 45", decision.Remaining)
		}
		for i := range 45 {
			if !decide(t, limiter, request(t, "p", "somebody", 1)).Allowed {
				t.Fatalf("denied after %d of 45", i)
			}
		}
		decision := decide(t, limiter, request(t, "p", "somebody", 1))
		if decision.Allowed || decision.Certainty != ratelimit.ApproximateAlgorithm {
			t.Fatalf("the 46th is %+v, must be denied", decision)
		}
	})
}

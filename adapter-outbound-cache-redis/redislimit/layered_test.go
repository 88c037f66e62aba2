package redislimit_test

import (
	"context"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// TestThin is replaced by the suite.
func TestThin(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		limiter, err := redislimit.New(config(t, server.Addr,
			policySpec("user", ratelimit.SlidingLog{Limit: 3, Window: time.Hour}),
			policySpec("tenant", ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: time.Hour}),
		))
		if err != nil {
			t.Fatal(err)
		}
		ask := func(user byte) ratelimit.LayeredOutcome {
			request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{
				Root: pseudonym.Digest{99},
				Levels: []ratelimit.Level{
					{Name: "user", PolicyID: "user", Subject: pseudonym.Digest{user}, Cost: 1},
					{Name: "tenant", PolicyID: "tenant", Subject: pseudonym.Digest{99}, Cost: 1},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			return limiter.EvaluateLayers(ctx, request)
		}
		for i := range 4 {
			t.Logf("%d %+v", i, ask(1))
		}
		for i := range 9 {
			o := ask(byte(2 + i/3))
			if e, ok := o.(ratelimit.LayeredEvaluated); ok {
				t.Log(i, e.Decision.Allowed(), e.Decision.RefusedBy(), e.Decision.Remaining(), e.Decision.RetryAfter())
			} else {
				t.Log(o)
			}
		}
	})
}

package redislimit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// BenchmarkEvaluate is the whole way of an evaluation on a real server, over
// 1,000 subjects, by algorithm and number of callers.
func BenchmarkEvaluate(b *testing.B) {
	server := redistest.Primary(b)
	for name, parameters := range map[string]ratelimit.Parameters{
		"fixed-window":    ratelimit.FixedWindow{Limit: 1_000_000_000, Window: time.Hour},
		"sliding-counter": ratelimit.SlidingCounter{Limit: 1_000_000_000, Window: time.Hour},
		"token-bucket":    ratelimit.TokenBucket{Capacity: 1_000_000, RefillTokens: 1_000_000, RefillInterval: time.Second},
	} {
		limiter := newLimiter(b, config(b, server.Addr, policySpec(name, parameters)))
		requests := make([]ratelimit.Request, 1000)
		for i := range requests {
			requests[i] = request(b, name, fmt.Sprint("subject ", i), 1)
		}
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(callers)
				run := func(next func() bool) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
					defer cancel()
					for i := 0; next(); i++ {
						if outcome := limiter.Evaluate(ctx, requests[i%len(requests)]); label(outcome) != "allowed" {
							b.Error(label(outcome))
							return
						}
					}
				}
				if callers == 1 {
					run(b.Loop)
					return
				}
				b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
			})
		}
	}
}

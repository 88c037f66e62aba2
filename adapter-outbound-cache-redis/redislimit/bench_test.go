package redislimit_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// BenchmarkEvaluate is the whole way of an evaluation on a real server, over
// 1,000 subjects, by algorithm, kind of dispatch and number of callers.
func BenchmarkEvaluate(b *testing.B) {
	server := redistest.Primary(b)
	for name, parameters := range map[string]ratelimit.Parameters{
		"fixed-window":    ratelimit.FixedWindow{Limit: 1_000_000_000, Window: time.Hour},
		"sliding-counter": ratelimit.SlidingCounter{Limit: 1_000_000_000, Window: time.Hour},
		"sliding-log":     ratelimit.SlidingLog{Limit: ratelimit.MaxSlidingLogLimit, Window: time.Second},
		"token-bucket":    ratelimit.TokenBucket{Capacity: 1_000_000, RefillTokens: 1_000_000, RefillInterval: time.Second},
	} {
		requests := make([]ratelimit.Request, 1000)
		for i := range requests {
			requests[i] = request(b, name, fmt.Sprint("subject ", i), 1)
		}
		for _, dispatch := range redislimit.Dispatches() {
			c := config(b, server.Addr, policySpec(name, parameters))
			c.Dispatch = dispatch
			limiter := newLimiter(b, c)
			b.Run(fmt.Sprintf("%s/%s/callers=1", name, dispatch), func(b *testing.B) {
				b.ReportAllocs()
				evaluateAll(b, limiter, requests, b.Loop)
			})
			b.Run(fmt.Sprintf("%s/%s/callers=128", name, dispatch), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(128 / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) { evaluateAll(b, limiter, requests, pb.Next) })
			})
		}
	}
}

func evaluateAll(b *testing.B, limiter *redislimit.Limiter, requests []ratelimit.Request, next func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for i := 0; next(); i++ {
		if outcome := limiter.Evaluate(ctx, requests[i%len(requests)]); label(outcome) != "allowed" {
			b.Error(label(outcome))
			return
		}
	}
}

// BenchmarkEvaluateLayers is that of an evaluation of several levels, over 1,000
// users of one root.
func BenchmarkEvaluateLayers(b *testing.B) {
	server := redistest.Primary(b)
	ample := ratelimit.FixedWindow{Limit: 1_000_000_000, Window: time.Hour}
	for _, count := range []int{1, 2, 3, 5} {
		var specs []ratelimit.PolicySpec
		for i := range count {
			specs = append(specs, policySpec(fmt.Sprint("level-", i), ample))
		}
		limiter := newLimiter(b, config(b, server.Addr, specs...))
		requests := make([]ratelimit.LayeredRequest, 1000)
		for i := range requests {
			levels := []ratelimit.Level{level(b, "level-0", fmt.Sprint("user ", i))}
			for _, spec := range specs[1:] {
				levels = append(levels, level(b, spec.ID, "root"))
			}
			requests[i] = layeredRequest(b, "root", levels...)
		}
		b.Run(fmt.Sprintf("levels=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			for i := 0; b.Loop(); i++ {
				if outcome := limiter.EvaluateLayers(ctx, requests[i%len(requests)]); label(outcome) != "allowed" {
					b.Fatal(label(outcome))
				}
			}
		})
	}
}

package redislimit_test

import (
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure the sliding log's documented example: no hour admits more than five,
// whenever it begins, and a denial waits for as much to leave as its cost needs.
func TestSlidingLogExample(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", ratelimit.SlidingLog{Limit: 5, Window: time.Hour})))
		key := ""
		var began time.Time // by the server's clock
		for i, step := range []struct {
			later   time.Duration
			cost    int64
			allowed bool
			left    int64
			wait    time.Duration // less what the test itself takes
			entries int64         // of the log, whose first says whose it is
		}{
			{0, 2, true, 3, 0, 2},
			{10 * time.Minute, 1, true, 2, 0, 3},
			{40 * time.Minute, 2, true, 0, 0, 4},
			{0, 1, false, 0, 10 * time.Minute, 4},
			{0, 3, false, 0, 20 * time.Minute, 4},
			{0, 4, false, 0, time.Hour, 4},
			{10 * time.Minute, 3, false, 2, 10 * time.Minute, 4}, // nothing is trimmed by a denial
			{0, 2, true, 0, 0, 4},
			{59 * time.Minute, 3, true, 0, 0, 3},
			{time.Hour, 5, true, 0, 0, 2},
		} {
			if step.later > 0 {
				shift(t, client, key, step.later)
			}
			decision := decide(t, limiter, request(t, "p", "somebody", step.cost))
			key = onlyKey(t, client)
			now := decision.ResetAt.Add(-decision.ResetAfter)
			if i == 0 {
				began = now
			}
			waits := decision.RetryAfter <= step.wait && decision.RetryAfter >= max(0, step.wait-now.Sub(began))
			if decision.Allowed != step.allowed || decision.Remaining != step.left || !waits || decision.Certainty != ratelimit.Certain {
				t.Fatalf("step %d: decision is %+v, must be %+v", i, decision, step)
			}
			if entries := client.ZCard(t.Context(), key).Val(); entries != step.entries {
				t.Fatalf("step %d: the log has %d entries, must have %d", i, entries, step.entries)
			}
		}
	})
}

// Ensure that a log takes what the documentation says, by the admissions that it
// remembers.
func TestSlidingLogMemory(t *testing.T) {
	const documented = 10_000
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		limiter := newLimiter(t, config(t, server.Addr, policySpec("edge-default", ratelimit.SlidingLog{Limit: documented, Window: time.Hour})))
		admitted := 0
		for _, size := range []struct {
			admissions int
			most       int64 // bytes
		}{
			{1, 200},
			{127, 4_300}, // the most that servers keep in one piece
			{128, 19_000},
			{documented, 1_250_000},
		} {
			admit(t, limiter, size.admissions-admitted)
			admitted = size.admissions
			used := client.MemoryUsage(t.Context(), onlyKey(t, client), 0).Val()
			if used > size.most || used < size.most/3 {
				t.Errorf("a log of %d admissions takes %d bytes, must be about %d at most", admitted, used, size.most)
			}
		}
	})
}

// admit spends as many single units.
func admit(t *testing.T, limiter *redislimit.Limiter, times int) {
	t.Helper()
	const callers = 64
	one := request(t, "edge-default", "somebody", 1)
	var asking sync.WaitGroup
	for caller := range callers {
		asking.Go(func() {
			for i := caller; i < times; i += callers {
				if got := label(evaluate(t, limiter, one)); got != "allowed" {
					t.Errorf("outcome is %q, must be allowed", got)
					return
				}
			}
		})
	}
	asking.Wait()
}

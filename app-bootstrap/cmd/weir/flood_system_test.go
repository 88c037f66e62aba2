//go:build system

package main

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

const (
	flooders = 512
	floodFor = 5 * time.Second
)

// Ensure that clients do not open the gate of fail-open by asking for more than
// this process and its store can decide in time: of a user's requests no more pass
// than the limit has, however many there are, and nothing is degraded.
func TestSystemFloodOpensNoGate(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	weir := start(t, withTenantUser(t, server.Addr, "fail-open", "--set", "app.rate-limit.redis.command-timeout=50ms")...)
	weir.decides(t)

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flooders}}
	defer client.CloseIdleConnections()
	var passed, refused, undecided atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for range flooders {
		all.Go(func() {
			for time.Since(begun) < floodFor {
				answer, err := client.Do(weir.as("flooded", "flooder"))
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				switch answer.StatusCode {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					undecided.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d passed, %d were refused, %d not decided", passed.Load(), refused.Load(), undecided.Load())
	if byCategory, degraded := weir.degraded(t); degraded > 0 {
		t.Errorf("%d requests were degraded: %v", degraded, byCategory)
	}
	if passed.Load() > 3 {
		t.Errorf("%d requests of a user passed, the limit is 3", passed.Load())
	}
	if refused.Load() == 0 {
		t.Error("nothing was decided")
	}
	weir.stop(t)
}

//go:build system

package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

const (
	flooders = 512
	floodFor = 5 * time.Second
	// outageAfter is how long a machine must stall before that looks like an outage.
	outageAfter = 800 * time.Millisecond
)

// Ensure that clients do not open the gate of fail-open by asking for more than
// this process and its store can decide in time: of a user's requests no more pass
// than the limit has, however many there are, and nothing is degraded. Only while
// the whole machine stalls, which looks like an outage, may it open; then there is
// another round.
func TestSystemFloodOpensNoGate(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	weir := start(t, withTenantUser(t, server.Addr, "fail-open", "--set", "app.rate-limit.redis.command-timeout=50ms")...)
	for round := 1; ; round++ {
		weir.decides(t)
		_, before := weir.degraded(t)
		f := floods(t, weir, fmt.Sprint("flooder-", round))
		byCategory, after := weir.degraded(t)
		t.Logf("round %d: %d passed, %d were refused, %d not decided, the longest pause was %v, the machine stalled for %v", round, f.passed, f.refused, f.undecided, f.pause, f.stall)
		if f.refused == 0 {
			t.Error("nothing was decided")
		}
		opened := after > before || f.passed > 3
		if opened && f.stall >= outageAfter && round < rounds {
			continue
		}
		if opened {
			t.Errorf("%d requests were degraded: %v; %d of a user passed, the limit is 3", after-before, byCategory, f.passed)
		}
		break
	}
	weir.stop(t)
}

// flood is what became of many requests.
type flood struct {
	passed, refused, undecided int
	pause                      time.Duration // the longest without a decision
	stall                      time.Duration // the longest that a sleep took too long
}

// floods lets many clients of one user ask without a pause.
func floods(t *testing.T, weir *process, user string) (f flood) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flooders}}
	defer client.CloseIdleConnections()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	begun := time.Now()
	all.Go(func() {
		const nap = 10 * time.Millisecond
		for time.Since(begun) < floodFor {
			asleep := time.Now()
			time.Sleep(nap)
			f.stall = max(f.stall, time.Since(asleep)-nap)
		}
	})
	last := begun // decision
	note := func(answer *http.Response) {
		mu.Lock()
		defer mu.Unlock()
		if answer.Header.Get("RateLimit") != "" {
			f.pause, last = max(f.pause, time.Since(last)), time.Now()
		}
		switch answer.StatusCode {
		case http.StatusOK:
			f.passed++
		case http.StatusTooManyRequests:
			f.refused++
		default:
			f.undecided++
		}
	}
	for range flooders {
		all.Go(func() {
			for time.Since(begun) < floodFor {
				answer, err := client.Do(weir.as("flooded", user))
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				note(answer)
			}
		})
	}
	all.Wait()
	f.pause = max(f.pause, time.Since(last))
	return f
}

//go:build system

package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

const (
	// perSecond requests arrive, however the earlier ones fare, for as long.
	perSecond  = 1000
	pausedFor  = 10 * time.Second
	settled    = time.Second // from the start, what the breaker takes to open
	tick       = 5 * time.Millisecond
	wantBefore = 10 * time.Millisecond
)

// Ensure that a store which stops answering costs next to nothing: with the
// default bounds, requests are refused at once as soon as the breaker has
// noticed. A busy machine may spoil a round, so the best of three counts.
func TestSystemPausedRedisIsLeftAlone(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	args := append(withRedis(t, server.Addr), "--set", "app.web.evaluation-deadline=250ms")
	for _, timeout := range []string{"command-timeout=50ms", "pool-timeout=50ms", "dial-timeout=250ms"} {
		args = append(args, "--set", "app.rate-limit.redis."+timeout)
	}
	weir := start(t, args...)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: perSecond}}
	var best time.Duration
	for round := range 3 {
		server.Pause(t)
		refusals := arrivals(t, client, weir.public+"/")
		missing := send(t, get(weir.management+"/readyz"))
		server.Resume(t)
		if missing.status != http.StatusServiceUnavailable || !strings.Contains(missing.body, `"redis"`) {
			t.Errorf("/readyz is answered %d %s", missing.status, missing.body)
		}
		resumed := time.Now()
		eventually(t, "requests are decided again", func() bool { return send(t, get(weir.public+"/")).status != http.StatusServiceUnavailable })
		if took := time.Since(resumed); took > 2*time.Second {
			t.Errorf("the recovery took %v", took)
		}
		p99 := refusals[len(refusals)*99/100]
		t.Logf("round %d: p99 of %d refusals is %v", round+1, len(refusals), p99)
		if best == 0 || p99 < best {
			best = p99
		}
		if best < wantBefore {
			break
		}
	}
	if best >= wantBefore {
		t.Errorf("p99 of the refusals is %v, must be below %v", best, wantBefore)
	}
	weir.stop(t)
}

// arrivals lets requests arrive and gives how long those took that came once the
// breaker had its time, the shortest first. All of them must be refused.
func arrivals(t *testing.T, client *http.Client, url string) []time.Duration {
	t.Helper()
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		took  []time.Duration
		begun = time.Now()
	)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for sent := 0; time.Since(begun) < pausedFor; <-ticker.C {
		for ; sent < int(time.Since(begun).Seconds()*perSecond); sent++ {
			all.Go(func() {
				start := time.Now()
				answer, err := client.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("answered %d while the store is paused", answer.StatusCode)
				}
				if start.Sub(begun) > settled {
					mu.Lock()
					took = append(took, time.Since(start))
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if least := perSecond * int((pausedFor - settled).Seconds()) * 9 / 10; len(took) < least {
		t.Fatalf("%d requests arrived, must be %d at least", len(took), least)
	}
	slices.Sort(took)
	return took
}

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
// noticed, and decided again soon after it answers. Only on a machine that takes half
// of that for /livez, which asks no store, they may take twice what that takes; and
// the best of three rounds counts.
func TestSystemPausedRedisIsLeftAlone(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	args := append(withRedis(t, server.Addr), "--set", "app.web.evaluation-deadline=250ms")
	for _, timeout := range []string{"command-timeout=50ms", "pool-timeout=50ms", "dial-timeout=250ms"} {
		args = append(args, "--set", "app.rate-limit.redis."+timeout)
	}
	weir := start(t, args...)
	prompt := false
	for round := 1; round <= rounds && !prompt; round++ {
		server.Pause(t)
		refusals, calm := arrivals(t, weir)
		missing := send(t, get(weir.management+"/readyz"))
		server.Resume(t)
		if missing.status != http.StatusServiceUnavailable || !strings.Contains(missing.body, `"redis"`) {
			t.Errorf("/readyz is answered %d %s", missing.status, missing.body)
		}
		resumed := time.Now()
		eventually(t, "requests are decided again", func() bool { return send(t, get(weir.public+"/")).status != http.StatusServiceUnavailable })
		took := time.Since(resumed)
		t.Logf("round %d: of %d refusals p99 is %v, of /livez %v, the recovery took %v", round, len(refusals), p99(refusals), p99(calm), took)
		prompt = p99(refusals) < max(wantBefore, 2*p99(calm)) && took <= recovery
	}
	if !prompt {
		t.Errorf("in no round p99 of the refusals was below %v, and the recovery within %v", wantBefore, recovery)
	}
	weir.stop(t)
}

// arrivals lets requests arrive, and one in ten of them at /livez, and gives how
// long those took that came once the breaker had its time. All of the others
// must be refused.
func arrivals(t *testing.T, weir *process) (refusals, calm []time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: perSecond}}
	defer client.CloseIdleConnections()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	begun := time.Now()
	arrive := func(url string, want int, took *[]time.Duration) {
		start := time.Now()
		answer, err := client.Get(url)
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s is answered %d, must be %d", url, answer.StatusCode, want)
		}
		if start.Sub(begun) > settled {
			mu.Lock()
			*took = append(*took, time.Since(start))
			mu.Unlock()
		}
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	most := perSecond * int(pausedFor.Seconds())
	for sent := 0; sent < most; <-ticker.C {
		for ; sent < min(most, int(time.Since(begun).Seconds()*perSecond)); sent++ {
			all.Go(func() { arrive(weir.public+"/", http.StatusServiceUnavailable, &refusals) })
			if sent%10 == 0 {
				all.Go(func() { arrive(weir.management+"/livez", http.StatusOK, &calm) })
			}
		}
	}
	all.Wait()
	if len(refusals) < most/2 || len(calm) < most/20 {
		t.Fatalf("of %d requests only %d are known, and %d of /livez", most, len(refusals), len(calm))
	}
	return refusals, calm
}

func p99(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)*99/100]
}

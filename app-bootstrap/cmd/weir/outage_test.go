package main

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// Of the outage in which processes fall back to what they count by themselves.
const (
	fallbackLimit  = 5
	fallbackWindow = time.Second
	outage         = 5 * fallbackWindow / 2
	arrival        = 10 * time.Millisecond // of a request at each process
	recovery       = 2 * time.Second
	rounds         = 3 // of which the best counts: a machine may stall
)

// briefUsers limits users in short windows, and tenants by what does not come back.
const briefUsers = `
app:
  web:
    layers: {set: tenant-user, identities: {user: "header:X-User", tenant: "header:X-Tenant"}}
    fallback: {replicas: 2}
  rate-limit:
    default-policy: tenant
    layered:
      tenant-user: {failure-mode: local-fallback, levels: [{name: user, policy: user}, {name: tenant, policy: tenant}]}
    overrides:
OVERRIDES    policies:
      user: {revision: 1, algorithm: sliding-log, limit: 5, window: 1s, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      tenant: {revision: 1, algorithm: fixed-window, limit: 100000, window: 87840h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// withBriefUsers is the arguments for those levels, which are kept at addr. Each of
// small is a tenant with a quota of 7.
func withBriefUsers(t *testing.T, addr string, small ...string) []string {
	t.Helper()
	var overrides strings.Builder
	for _, tenant := range small {
		fmt.Fprintf(&overrides, "      - {policy: tenant, subject: \"header:X-Tenant:%s\", limit: 7}\n", tenant)
	}
	file := writeFile(t, "weir.yaml", strings.ReplaceAll(briefUsers, "OVERRIDES", overrides.String()))
	return slices.Concat([]string{"--config", file}, overRedis(t, addr), []string{
		"--set", "app.rate-limit.redis.command-timeout=1s",
		"--set", "app.rate-limit.redis.breaker.failures=1",
	})
}

// Ensure that while the store is out, two processes which each enforce their share
// admit what the limit allows in any window, and one more at most, as an odd limit
// is rounded up; that each answer says how it came about; and that both count
// together again soon after the store is back.
func TestWeir_LocalFallbackInAnOutage(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	afterStop, afterPause := []string{"small-1", "small-2", "small-3"}, []string{"little-1", "little-2", "little-3"}
	args := withBriefUsers(t, server.Addr, slices.Concat(afterStop, afterPause)...)
	processes := []*process{start(t, args...), start(t, args...)}
	for _, weir := range processes {
		wantQuotas(t, sendUntilDecided(t, weir.as("acme", "ann")), "", "user=5 tenant=100000")
	}
	var answers []timed
	for _, test := range []struct {
		name       string
		begin, end func(testing.TB)
		tenants    []string // that nobody has used
	}{
		{"stopped", server.Stop, server.Restart, afterStop},
		{"paused", server.Pause, server.Resume, afterPause},
	} {
		t.Run(test.name, func(t *testing.T) {
			took := time.Duration(math.MaxInt64)
			for round := 0; round < rounds && took > recovery; round++ {
				test.begin(t)
				answers = append(answers, duringOutage(t, processes)...)
				test.end(t)
				back := time.Now()
				for _, weir := range processes {
					weir.decides(t)
				}
				took = time.Since(back)
			}
			if took > recovery {
				t.Errorf("the recovery took %v", took)
			}
			if most := busiest(answers); most > fallbackLimit+1 {
				t.Errorf("%d are admitted in a window, want at most %d", most, fallbackLimit+1)
			}
			if n := baseless(answers); n > 0 {
				t.Errorf("%d are refused although nobody was admitted for %v", n, fallbackWindow)
			}
			countTogether(t, processes, test.tenants, 7)
		})
	}
	for _, weir := range processes {
		weir.stop(t)
	}
}

// countTogether wants all processes together to admit limit requests of a tenant, as
// the store decides. Where a machine stalls it does not decide about all of them, and
// then another tenant counts.
func countTogether(t *testing.T, processes []*process, tenants []string, limit int) {
	t.Helper()
	var undecided error
	for _, tenant := range tenants {
		requests := make([]*http.Request, 40)
		for i := range requests {
			requests[i] = processes[i%len(processes)].as(tenant, strconv.Itoa(i))
		}
		var got int
		if got, undecided = tally(requests, byStore); undecided == nil {
			if got != limit {
				t.Errorf("after the outage %d pass, want %d", got, limit)
			}
			wantQuotas(t, sendUntilDecided(t, processes[0].as(tenant, "ann")), "", fmt.Sprint("user=5 tenant=", limit))
			return
		}
		for _, weir := range processes {
			weir.decides(t)
		}
	}
	t.Errorf("after the outage: %v", undecided)
}

// byStore is byStatus for what only the store may decide.
func byStore(got response) (bool, error) {
	if mode := got.header.Get("Weir-Degraded"); mode != "" {
		return false, errors.New("decided by " + mode)
	}
	return byStatus(got)
}

func wantQuotas(t *testing.T, got response, mode, quotas string) {
	t.Helper()
	if shown, degraded := numbers(got, "RateLimit-Policy"), got.header.Get("Weir-Degraded"); shown != quotas || degraded != mode {
		t.Errorf("answered %d by %q, the quotas shown are %s, want %q, %s", got.status, degraded, shown, mode, quotas)
	}
}

// timed is an answer, whose it is, and when it was asked for and had.
type timed struct {
	response
	by             *process
	sent, received time.Time
}

func (a timed) admits() bool { return a.status == http.StatusOK }

// duringOutage lets requests of one user arrive at each of processes, however the
// earlier ones fare. All of them must be decided by the process.
func duringOutage(t *testing.T, processes []*process) []timed {
	t.Helper()
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		answers []timed
	)
	ticker := time.NewTicker(arrival)
	defer ticker.Stop()
	for begun := time.Now(); time.Since(begun) < outage; <-ticker.C {
		for _, weir := range processes {
			all.Go(func() {
				sent := time.Now()
				got, err := try(weir.as("acme", "ann"))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, timed{got, weir, sent, time.Now()})
			})
		}
	}
	all.Wait()
	if len(answers) == 0 {
		t.Fatal("there are no answers")
	}
	for _, got := range answers {
		if _, err := byStatus(got.response); err != nil {
			t.Error(err)
		}
		wantQuotas(t, got.response, "local-fallback", "user=3 tenant=50000")
	}
	return answers
}

// busiest is the most admissions that lie in one window for certain.
func busiest(answers []timed) int {
	most := 0
	for _, first := range answers {
		within := 0
		for _, a := range answers {
			if a.admits() && !a.sent.Before(first.sent) && a.received.Sub(first.sent) < fallbackWindow {
				within++
			}
		}
		most = max(most, within)
	}
	return most
}

// baseless is how many refusals have no admission by the same process that may lie
// in the window before them.
func baseless(answers []timed) int {
	n := 0
	for _, refusal := range answers {
		if refusal.admits() || slices.ContainsFunc(answers, func(a timed) bool {
			return a.admits() && a.by == refusal.by && a.sent.Before(refusal.received) && refusal.sent.Sub(a.received) < fallbackWindow
		}) {
			continue
		}
		n++
	}
	return n
}

package main

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
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
      - {policy: tenant, subject: "header:X-Tenant:small", limit: 7}
      - {policy: tenant, subject: "header:X-Tenant:little", limit: 7}
    policies:
      user: {revision: 1, algorithm: sliding-log, limit: 5, window: 1s, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      tenant: {revision: 1, algorithm: fixed-window, limit: 100000, window: 87840h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// Ensure that while the store is out, two processes which each enforce their share
// admit what the limit allows in any window, and one more at most, as an odd limit
// is rounded up; that each answer says how it came about; and that both count
// together again soon after the store is back.
func TestWeir_LocalFallbackInAnOutage(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	args := slices.Concat([]string{"--config", writeFile(t, "weir.yaml", briefUsers)}, overRedis(t, server.Addr), []string{
		"--set", "app.rate-limit.redis.command-timeout=1s",
		"--set", "app.rate-limit.redis.breaker.failures=1",
	})
	processes := []*process{start(t, args...), start(t, args...)}
	for _, weir := range processes {
		wantQuotas(t, send(t, weir.as("acme", "ann")), "", "user=5 tenant=100000")
	}
	for _, test := range []struct {
		name       string
		begin, end func(testing.TB)
		tenant     string // with a quota that nobody has used
	}{
		{"stopped", server.Stop, server.Restart, "small"},
		{"paused", server.Pause, server.Resume, "little"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.begin(t)
			answers := duringOutage(t, processes)
			test.end(t)
			back := time.Now()

			if most := busiest(answers); most == 0 || most > fallbackLimit+1 {
				t.Errorf("%d are admitted in a window, want 1 to %d", most, fallbackLimit+1)
			}
			if longest := longestDrought(answers); longest > 2*fallbackWindow {
				t.Errorf("nobody is admitted for %v", longest)
			}

			for _, weir := range processes {
				weir.decides(t)
			}
			if took := time.Since(back); took > recovery {
				t.Errorf("the recovery took %v", took)
			}
			requests := make([]*http.Request, 40)
			for i := range requests {
				requests[i] = processes[i%len(processes)].as(test.tenant, strconv.Itoa(i))
			}
			if got := allowed(t, requests, byStore); got != 7 {
				t.Errorf("after the outage %d pass, want 7", got)
			}
			wantQuotas(t, send(t, processes[0].as(test.tenant, "ann")), "", "user=5 tenant=7")
		})
	}
	for _, weir := range processes {
		weir.stop(t)
	}
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

// timed is an answer, and when it was asked for and had.
type timed struct {
	response
	sent, received time.Time
}

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
				answers = append(answers, timed{got, sent, time.Now()})
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
			if a.status == http.StatusOK && !a.sent.Before(first.sent) && a.received.Sub(first.sent) < fallbackWindow {
				within++
			}
		}
		most = max(most, within)
	}
	return most
}

// longestDrought is the longest time of answers without an admission.
func longestDrought(answers []timed) time.Duration {
	slices.SortFunc(answers, func(one, other timed) int { return one.received.Compare(other.received) })
	longest, last := time.Duration(0), answers[0].received
	for _, a := range answers {
		longest = max(longest, a.received.Sub(last))
		if a.status == http.StatusOK {
			last = a.received
		}
	}
	return longest
}

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// asked is [process.as] by a proxy that asks.
func (p *process) asked(tenant, user string) *http.Request {
	return get(p.management+"/v1/authorize", "X-Forwarded-Method", http.MethodGet, "X-Forwarded-Uri", "/", "X-Tenant", tenant, "X-User", user)
}

var degradedSample = regexp.MustCompile(`(?m)^weir_edge_degraded_total\{category="([a-z-]+)",mode="[a-z-]+"\} (\d+)$`)

// degraded is how many requests /metrics says were treated by the failure mode, by
// category.
func (p *process) degraded(t *testing.T) (byCategory map[string]int, all int) {
	t.Helper()
	byCategory = make(map[string]int)
	for _, sample := range degradedSample.FindAllStringSubmatch(send(t, get(p.management+"/metrics")).body, -1) {
		count, err := strconv.Atoi(sample[2])
		if err != nil {
			t.Fatal(err)
		}
		byCategory[sample[1]] = count
		all += count
	}
	return byCategory, all
}

// decides waits until the store decides again.
func (p *process) decides(t *testing.T) {
	t.Helper()
	sendUntilDecided(t, p.as("of-polls", "ann"))
}

// sendUntilDecided sends request until the store decides about it.
func sendUntilDecided(t *testing.T, request *http.Request) (decided response) {
	t.Helper()
	eventually(t, "the store decides", func() bool {
		decided = send(t, request)
		_, err := byStore(decided)
		return err == nil
	})
	return decided
}

// Ensure that with fail-open requests pass above their limits while the store
// cannot be reached, is not ready or does not reply, at the public listener and
// for proxies that ask, and that the answer, /metrics and the log say so; and that
// with fail-closed they are refused.
func TestWeir_FailOpenInAnOutage(t *testing.T) {
	const times = 6 // at each listener, twice the limit of a user
	server := redistest.Start(t, redistest.Lanes(t)[0])
	// Once the first request has gone unanswered, no other one waits for a place on
	// the wire, which would be refused.
	brief := []string{"--set", "app.rate-limit.redis.command-timeout=1s", "--set", "app.rate-limit.redis.breaker.failures=1"}
	open := start(t, withTenantUser(t, server.Addr, "fail-open", brief...)...)
	closed := start(t, withTenantUser(t, server.Addr, "fail-closed", brief...)...)
	for _, weir := range []*process{open, closed} {
		weir.decides(t)
	}
	replicaOf := func(host, port string) func(testing.TB) {
		return func(tb testing.TB) {
			if err := server.Client(tb).ReplicaOf(tb.Context(), host, port).Err(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name       string
		begin, end func(testing.TB)
		category   string
	}{
		{"stopped", server.Stop, server.Restart, "connection"},
		{"a replica", replicaOf("127.0.0.1", "1"), replicaOf("no", "one"), "store-unready"},
		{"paused", server.Pause, server.Resume, "no-reply"},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := regexp.MustCompile(`level=WARN msg="limits could not be decided, .*" mode=fail-open .*category=` + test.category + ` `)
			outage := func() (seen bool) {
				before, allBefore := open.degraded(t)
				begun, said := time.Now(), len(open.stderr.String())
				test.begin(t)
				var requests []*http.Request
				for range times {
					requests = append(requests, open.as("acme", "ann"), open.asked("acme", "ann"))
				}
				polls := 0 // of each listener the last one passes
				for _, request := range requests[:2] {
					eventually(t, "an outage opens the gate", func() bool {
						passes, _ := byFailOpen(send(t, request))
						return passes
					})
					polls++
				}
				pass(t, requests)
				wantRefusal(t, send(t, closed.as("acme", "ann")), `"category":"`)
				wantRefusal(t, send(t, closed.asked("acme", "ann")), `"category":"`)
				test.end(t)

				after, allAfter := open.degraded(t)
				if allAfter-allBefore != polls+len(requests) {
					t.Errorf("/metrics counts %v after %v, want %d more", after, before, polls+len(requests))
				}
				for _, weir := range []*process{open, closed} {
					weir.decides(t)
				}
				lines := len(line.FindAllString(open.stderr.String()[said:], -1))
				if most := 2 * (1 + int(time.Since(begun).Seconds())); lines > most { // for either listener
					t.Errorf("%d lines are logged, want at most %d:\n%s", lines, most, open.stderr)
				}
				return after[test.category] > before[test.category]
			}
			seen := false
			for round := 0; round < rounds && !seen; round++ { // a machine that stalls can be a reason of its own
				seen = outage()
			}
			if !seen {
				t.Fatalf("/metrics counts none for %s", test.category)
			}
			eventually(t, "the log says so", func() bool { return line.MatchString(open.stderr.String()) })
		})
	}
	if count, _ := closed.degraded(t); len(count) > 0 {
		t.Errorf("/metrics of fail-closed counts %v", count)
	}
	for _, weir := range []*process{open, closed} {
		weir.stop(t)
	}
}

// pass wants all of many requests at once to pass without a decision. Those that are
// too many at once, where a machine stalls, must be sent again: nothing opens for them.
func pass(t *testing.T, requests []*http.Request) {
	t.Helper()
	var all sync.WaitGroup
	for _, request := range requests {
		all.Go(func() {
			got, err := try(request)
			for begun := time.Now(); strings.Contains(got.body, `"category":"saturated"`) && time.Since(begun) < patience; {
				got, err = try(request)
			}
			if err == nil {
				_, err = byFailOpen(got)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// byFailOpen wants an answer that lets pass without a decision.
func byFailOpen(got response) (bool, error) {
	if got.status != http.StatusOK && got.status != http.StatusNoContent {
		return false, fmt.Errorf("answered %d %s", got.status, got.body)
	}
	if mode, left := got.header.Get("Weir-Degraded"), got.header.Get("RateLimit"); mode != "fail-open" || left != "" {
		return false, fmt.Errorf("passes by %q, left are %s", mode, left)
	}
	return true, nil
}

// wantRefusal wants an answer that refuses, because it could not be decided, and
// of which the body has reason.
func wantRefusal(t *testing.T, got response, reason string) {
	t.Helper()
	if mode := got.header.Get("Weir-Degraded"); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, reason) || mode != "" {
		t.Errorf("answered %d %s by %q, want 503 with %s", got.status, got.body, mode, reason)
	}
}

// Ensure that fail-open opens nothing for what an operator has to mend, or a
// caller may bring about.
func TestWeir_FailOpenRefuses(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0], "--maxmemory-policy", "noeviction")
	admin := server.Client(t)
	user := func(rules ...string) func(*testing.T) {
		return func(t *testing.T) { must(t, admin.ACLSetUser(t.Context(), "weir", rules...).Err()) }
	}
	maxMemory := func(bytes string) func(*testing.T) {
		return func(t *testing.T) { must(t, admin.ConfigSet(t.Context(), "maxmemory", bytes).Err()) }
	}
	user("reset", "on", ">hunter2", "~weir:1:*", "+@all")(t)
	weir := start(t, withTenantUser(t, server.Addr, "fail-open",
		"--set", "app.rate-limit.redis.username=weir",
		"--set", "app.rate-limit.redis.password-file="+writeFile(t, "password", "hunter2\n"))...)

	for _, test := range []struct {
		name       string
		begin, end func(*testing.T)
		reason     string
	}{
		{"no right to run programs", user("-evalsha"), user("+evalsha"), `"outcome":"unavailable","category":"access-denied"`},
		{"no right to write", user("-hset"), user("+hset"), `"outcome":"indeterminate","category":"access-denied"`},
		{"a full store", maxMemory("1"), maxMemory("0"), `"outcome":"unavailable","category":"store-full"`},
		{"foreign state", func(t *testing.T) {
			for _, key := range keysOf(t, server) {
				must(t, admin.Set(t.Context(), key, "foreign", 0).Err())
			}
		}, func(t *testing.T) { must(t, admin.FlushAll(t.Context()).Err()) }, `"outcome":"incompatible","category":"state"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := send(t, weir.as("acme", test.name)); got.status != http.StatusOK {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			test.begin(t)
			for i := range 5 {
				user := fmt.Sprint(test.name, i) // a program that fails half-way has charged the user
				wantRefusal(t, send(t, weir.as("acme", user)), test.reason)
				wantRefusal(t, send(t, weir.asked("acme", user)), test.reason)
			}
			test.end(t)
			weir.decides(t)
		})
	}
	for _, levels := range []string{
		`"policyId":"tenant","subject":"late"`,
		`"layers":[{"name":"user","policyId":"user","subject":"ann"},{"name":"tenant","policyId":"tenant","subject":"late"}]`,
	} {
		wantRefusal(t, send(t, weir.evaluate(`{"deadlineMillis":1,`+levels+`}`)), `"outcome":"unavailable","category":"deadline-too-short"`)
	}
	if count, all := weir.degraded(t); all > 0 {
		t.Errorf("/metrics counts %v", count)
	}
	weir.stop(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Ensure that many requests at once open no gate: what is too many for the store
// is refused with fail-open, and limited by the process with local-fallback.
func TestWeir_SaturationOpensNothing(t *testing.T) {
	const parallel = 8
	server := redistest.Start(t, redistest.Lanes(t)[0])
	for _, test := range []struct {
		mode string
		want map[string]int // answers to all but the one that the store has
	}{
		{"fail-open", map[string]int{`503 "" saturated`: parallel - 1}},
		{"local-fallback", map[string]int{`200 "local-fallback"`: 3, `429 "local-fallback"`: parallel - 1 - 3}},
	} {
		t.Run(test.mode, func(t *testing.T) {
			weir := start(t, withTenantUser(t, server.Addr, test.mode,
				"--set", "app.web.evaluation-deadline=50s",
				"--set", "app.rate-limit.redis.command-timeout=40s",
				"--set", "app.rate-limit.admission.max-in-flight=1")...)
			weir.decides(t) // so that a connection is open
			server.Pause(t)
			answers := make(chan response, parallel)
			for range parallel {
				go func() {
					got, err := try(weir.as(test.mode, "ann"))
					if err != nil {
						t.Error(err)
					}
					answers <- got
				}()
			}
			count := make(map[string]int)
			for range parallel - 1 {
				got := <-answers
				label := fmt.Sprintf("%d %q", got.status, got.header.Get("Weir-Degraded"))
				if strings.Contains(got.body, `"category":"saturated"`) {
					label += " saturated"
				}
				count[label]++
			}
			server.Resume(t)
			if fmt.Sprint(count) != fmt.Sprint(test.want) {
				t.Errorf("answered %v, want %v", count, test.want)
			}
			if _, err := byStore(<-answers); err != nil {
				t.Error(err)
			}
			weir.stop(t)
		})
	}
}

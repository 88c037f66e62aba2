package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

const limit = 100

// withRedis is the arguments for limits that are kept at addr.
func withRedis(t *testing.T, addr string) []string {
	t.Helper()
	file := writeFile(t, "weir.yaml", fmt.Sprintf(`
app:
  web:
    # Other machines are slower than the defaults allow.
    evaluation-deadline: 20s
  rate-limit:
    default-policy: edge
    redis:
      endpoint: redis://%s
      hmac-secret-file: %s
      command-timeout: 5s
      dial-timeout: 5s
      pool-timeout: 5s
    policies:
      edge: {revision: 1, algorithm: fixed-window, limit: %d, window: 87840h, max-cost: 10, cleanup-grace: 1m, max-clock-regression: 250ms}
`, addr, writeFile(t, "hmac", "0123456789abcdef0123456789abcdef\n"), limit))
	return []string{"--config", file}
}

// allowed asks many times at once, in turn at each of the processes, and counts
// the admissions. Every answer must be an admission or a denial.
func allowed(t *testing.T, requests []*http.Request, isAllowed func(response) (bool, error)) int {
	t.Helper()
	count, err := tally(requests, isAllowed)
	if err != nil {
		t.Error(err)
	}
	return count
}

// tally is allowed for answers that may be wrong. The error says how they are.
func tally(requests []*http.Request, isAllowed func(response) (bool, error)) (count int, wrong error) {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
	)
	for _, request := range requests {
		all.Go(func() {
			got, err := try(request)
			var ok bool
			if err == nil {
				ok, err = isAllowed(got)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				count++
			}
			wrong = errors.Join(wrong, err)
		})
	}
	all.Wait()
	return count, wrong
}

func byStatus(got response) (bool, error) {
	switch got.status {
	case http.StatusOK:
		return true, nil
	case http.StatusTooManyRequests:
		return false, nil
	}
	return false, fmt.Errorf("answered %d %s", got.status, got.body)
}

func byDecision(got response) (bool, error) {
	var document struct {
		Decision struct{ Allowed *bool }
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		return false, err
	}
	if got.status != http.StatusOK || document.Decision.Allowed == nil {
		return false, fmt.Errorf("answered %d %s", got.status, got.body)
	}
	return *document.Decision.Allowed, nil
}

// Ensure that two processes that share a store admit exactly the limit between
// them, at the decision API and at the public listener, and that both count the
// same quota.
func TestWeir_TwoProcessesShareOneLimit(t *testing.T) {
	const parallel = 128
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		args := withRedis(t, server.Addr)
		processes := []*process{start(t, args...), start(t, args...)}

		evaluations := make([]*http.Request, parallel)
		passages := make([]*http.Request, parallel)
		for i := range parallel {
			weir := processes[i%len(processes)]
			evaluations[i] = weir.evaluate(`{"subject":"tenant"}`)
			passages[i] = get(weir.public + "/")
		}
		if got := allowed(t, evaluations, byDecision); got != limit {
			t.Errorf("%d evaluations are allowed, want %d", got, limit)
		}
		if got := allowed(t, passages, byStatus); got != limit {
			t.Errorf("%d requests pass, want %d", got, limit)
		}
		if ok, err := byDecision(send(t, processes[0].evaluate(`{"subject":"ip:127.0.0.1"}`))); ok || err != nil {
			t.Errorf("the address that used up its quota is allowed %v, %v at the decision API", ok, err)
		}
		for _, weir := range processes {
			weir.stop(t)
		}
	})
}

// Ensure that a process that starts without its store says so, refuses, and
// recovers when the store appears, without being restarted.
func TestWeir_StoreDownAtStart(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	server.Stop(t)
	weir := start(t, withRedis(t, server.Addr)...)

	if got := send(t, get(weir.management+"/livez")); got.status != http.StatusOK {
		t.Errorf("/livez is answered %d", got.status)
	}
	if got := send(t, get(weir.management+"/readyz")); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"redis"`) {
		t.Errorf("/readyz is answered %d %s", got.status, got.body)
	}
	for name, request := range map[string]*http.Request{
		"public listener": get(weir.public + "/"),
		"decision API":    weir.evaluate(`{"subject":"tenant"}`),
	} {
		if got := send(t, request); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"unavailable"`) {
			t.Errorf("the %s answers %d %s", name, got.status, got.body)
		}
	}

	server.Restart(t)
	eventually(t, "weir is ready", func() bool { return send(t, get(weir.management+"/readyz")).status == http.StatusOK })
	if got := send(t, get(weir.public+"/")); got.status != http.StatusOK {
		t.Errorf("the public listener answers %d %s", got.status, got.body)
	}
	weir.stop(t)
}

// Ensure that no subject stands in a key of the store or in a line of the log,
// however much is logged.
func TestWeir_LeaksNoSubject(t *testing.T) {
	subjects := []string{"alice@example.org", "203.0.113.77", "sk-live-7f3a9c", "2001:db8:77::1"}
	server := redistest.Primary(t)
	args := append(withRedis(t, server.Addr), "--log-level", "debug")
	byAddress := start(t, append(args, "--set", "app.web.subject.trusted-proxies=127.0.0.1")...)
	byKey := start(t, append(args, "--set", "app.web.subject.source=header:X-Api-Key")...)

	for _, subject := range subjects {
		for range limit + 1 { // the last one is denied
			send(t, get(byAddress.public+"/", "X-Forwarded-For", subject))
			send(t, get(byKey.public+"/", "X-Api-Key", subject))
		}
		for _, text := range []string{subject, "ip:" + subject, "header:X-Api-Key:" + subject} {
			send(t, byAddress.evaluate(fmt.Sprintf(`{"subject":%q}`, text)))
		}
		send(t, byAddress.evaluate(fmt.Sprintf(`{"subject":%q,"cost":11}`, subject)))
		send(t, byAddress.evaluate(fmt.Sprintf(`{"subjekt":%q}`, subject)))
	}
	send(t, get(byKey.public+"/")) // without the header
	keys := keysOf(t, server)
	if len(keys) < 2*len(subjects) {
		t.Errorf("the store holds %d keys: %q", len(keys), keys)
	}
	byAddress.stop(t)
	byKey.stop(t)

	places := map[string]string{
		"keys of the store": strings.Join(keys, "\n"),
		"log by address":    byAddress.stderr.String(),
		"log by key":        byKey.stderr.String(),
	}
	for place, text := range places {
		for _, subject := range subjects {
			if strings.Contains(text, subject) {
				t.Errorf("%s hold %q:\n%s", place, subject, text)
			}
		}
	}
	if !strings.Contains(places["log by address"], "level=DEBUG") {
		t.Error("nothing was logged at debug level")
	}
}

func keysOf(t *testing.T, server *redistest.Server) []string {
	t.Helper()
	var keys []string
	scan := server.Client(t).Scan(t.Context(), 0, "*", 100).Iterator()
	for scan.Next(t.Context()) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// Ensure that a client cannot spend, or be shielded by, the quota of an address
// by sending it as a header.
func TestWeir_HeaderIsNoAddress(t *testing.T) {
	server := redistest.Primary(t)
	weir := start(t, append(withRedis(t, server.Addr), "--set", "app.web.subject.source=header:X-Api-Key")...)
	for _, value := range []string{"203.0.113.77", "ip:203.0.113.77"} {
		if got := send(t, get(weir.public+"/", "X-Api-Key", value)); got.status != http.StatusOK {
			t.Fatalf("answered %d %s", got.status, got.body)
		}
	}
	got := send(t, weir.evaluate(`{"subject":"ip:203.0.113.77"}`))
	var document struct {
		Decision struct{ Remaining int }
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		t.Fatal(err)
	}
	if document.Decision.Remaining != limit-1 {
		t.Errorf("the address has %d left after its first request, want %d", document.Decision.Remaining, limit-1)
	}
	weir.stop(t)
}

// Ensure that a request that is under way when the listener closes is answered,
// and that the process then ends cleanly.
func TestWeir_DrainsOnSignal(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	weir := start(t, append(withRedis(t, server.Addr),
		"--set", "app.web.evaluation-deadline=50s",
		"--set", "app.rate-limit.redis.command-timeout=40s",
		"--set", "app.rate-limit.admission.max-in-flight=1",
		"--set", "app.web.shutdown.drain=40s")...)
	send(t, get(weir.public+"/")) // so that a connection is open

	server.Pause(t)
	answer := make(chan response, 2)
	for range cap(answer) {
		go func() {
			got, err := try(get(weir.public + "/"))
			if err != nil {
				t.Error(err)
			}
			answer <- got
		}()
	}
	// There is room for one: that the other is refused tells that it is under way.
	if got := <-answer; !strings.Contains(got.body, `"category":"saturated"`) {
		t.Fatalf("answered %d %s while the store is paused", got.status, got.body)
	}
	weir.signal(t, syscall.SIGTERM)
	eventually(t, "the listener is closed", func() bool {
		probe, err := net.Dial("tcp", strings.TrimPrefix(weir.public, "http://"))
		if err == nil {
			_ = probe.Close()
		}
		return err != nil
	})
	select {
	case got := <-answer:
		t.Fatalf("answered %d %s while the store is paused", got.status, got.body)
	case <-weir.exited:
		t.Fatalf("weir ended with a request under way:\n%s", weir.stderr)
	default:
	}
	server.Resume(t)
	if got := <-answer; got.status != http.StatusOK {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	if code := weir.wait(t); code != exitStopped {
		t.Errorf("exit code %d\n%s", code, weir.stderr)
	}
}

package redislimit_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// endlessFive admits five, and no more while a test runs.
var endlessFive = ratelimit.FixedWindow{Limit: 5, Window: endlessWindow}

// Ensure that a call which breaks the port's promises is refused before anything
// is sent, and consumes nothing.
func TestRefusesBeforeDispatch(t *testing.T) {
	server := redistest.Primary(t)
	client := server.Client(t)
	spec := policySpec("p", endlessFive)
	spec.MaxCost = 3
	limiter := newLimiter(t, config(t, server.Addr, spec))

	withID, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: "p", Subject: pseudonym.Digest{1}, Cost: 1, EvaluationID: "e",
	})
	if err != nil {
		t.Fatal(err)
	}
	within := func(d time.Duration) func(*testing.T) context.Context {
		return func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
	}
	for name, test := range map[string]struct {
		ctx     func(*testing.T) context.Context
		request ratelimit.Request
		want    string
	}{
		"no deadline":            {func(t *testing.T) context.Context { return t.Context() }, request(t, "p", "a", 1), "unavailable invalid-request"},
		"zero request":           {within(time.Minute), ratelimit.Request{}, "unavailable invalid-request"},
		"cost above the maximum": {within(time.Minute), request(t, "p", "a", 4), "unavailable invalid-request"},
		"unknown policy":         {within(time.Minute), request(t, "q", "a", 1), "incompatible unknown-policy"},
		"evaluation ID":          {within(time.Minute), withID, "unavailable unsupported"},
		"deadline too short":     {within(commandTimeout / 2), request(t, "p", "a", 1), "unavailable deadline-too-short"},
		"deadline passed":        {within(-time.Second), request(t, "p", "a", 1), "unavailable deadline-too-short"},
		"cancelled": {func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			cancel()
			return ctx
		}, request(t, "p", "a", 1), "unavailable cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			wantLabel(t, limiter.Evaluate(test.ctx(t), test.request), test.want)
		})
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were written", n)
	}
	if decision := decide(t, limiter, request(t, "p", "a", 1)); decision.Remaining != 4 {
		t.Errorf("%d remaining after one, must be 4", decision.Remaining)
	}
}

// Ensure that closing waits for what is in flight, that a closed limiter
// refuses, and that closing twice is fine.
func TestClose(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived) })
	server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		arrive()
		<-answer
		return fakeredis.Reply{Text: allowed}
	}))
	c := config(t, server.Addr, policySpec("p", endlessFive))
	c.MaxInFlight = 1 // so that no second one is dispatched
	limiter := newLimiter(t, c)
	var inFlight, closing sync.WaitGroup
	var outcome ratelimit.Outcome
	inFlight.Go(func() { outcome = evaluate(t, limiter, request(t, "p", "a", 1)) })
	<-arrived
	closed := make(chan error, 1)
	closing.Go(func() { closed <- limiter.Close(t.Context()) })
	eventually(t, "a closing limiter refuses", func() bool {
		return label(evaluate(t, limiter, request(t, "p", "b", 1))) == "unavailable shutting-down"
	})
	select {
	case err := <-closed:
		t.Fatalf("closed (%v) while an evaluation was in flight", err)
	default:
	}
	close(answer)
	inFlight.Wait()
	wantLabel(t, outcome, "allowed")
	closing.Wait()
	if err := errors.Join(<-closed, limiter.Close(t.Context())); err != nil {
		t.Error(err)
	}
	wantLabel(t, evaluate(t, limiter, request(t, "p", "a", 1)), "unavailable shutting-down")
}

// Ensure that New names every field that is wrong, and repeats no secret.
func TestNewNamesEveryFault(t *testing.T) {
	_, err := redislimit.New(redislimit.Config{Endpoint: "redis://user:hunter2@host:6379"})
	if err == nil {
		t.Fatal("an empty configuration was accepted")
	}
	for _, field := range []string{"endpoint", "command-timeout", "dial-timeout", "pool-timeout", "pool-size", "max-in-flight", "hmac-secret", "catalog"} {
		if !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%q repeats the password", err)
	}
}

// Ensure that an endpoint is a server and a database and nothing else.
func TestCheckEndpoint(t *testing.T) {
	for endpoint, valid := range map[string]bool{
		"redis://127.0.0.1:6379":           true,
		"redis://cache.example:6379/3":     true,
		"redis://[::1]:6379/":              true,
		"":                                 false,
		"127.0.0.1:6379":                   false,
		"rediss://127.0.0.1:6379":          true,
		"rediss://cache.example:6379/3":    true,
		"rediss://127.0.0.1":               false,
		"rediss://user@127.0.0.1:6379":     false,
		"redisss://127.0.0.1:6379":         false,
		"http://127.0.0.1:6379":            false,
		"redis://127.0.0.1":                false,
		"redis://127.0.0.1:0":              false,
		"redis://127.0.0.1:70000":          false,
		"redis://:6379":                    false,
		"redis://127.0.0.1:6379/x":         false,
		"redis://127.0.0.1:6379/-1":        false,
		"redis://127.0.0.1:6379?db=1":      false,
		"redis://127.0.0.1:6379#x":         false,
		"redis://user@127.0.0.1:6379":      false,
		"redis://user:pass@127.0.0.1:6379": false,
	} {
		if err := redislimit.CheckEndpoint(endpoint); (err == nil) != valid {
			t.Errorf("%q: error is %v, valid must be %v", endpoint, err, valid)
		}
	}
}

// Ensure that a new limiter has opened nothing and started nothing, and that the
// same look at one that works sees its connection.
func TestNewIsPassive(t *testing.T) {
	server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: allowed} }))
	before := runtime.NumGoroutine()
	limiter := newLimiter(t, config(t, server.Addr, policySpec("p", endlessFive)))
	if connections, goroutines := server.Connections(), runtime.NumGoroutine()-before; connections != 0 || goroutines > 0 {
		t.Errorf("a new limiter has %d connections and %d goroutines", connections, goroutines)
	}
	wantLabel(t, evaluate(t, limiter, request(t, "p", "a", 1)), "allowed")
	if server.Connections() != 1 {
		t.Errorf("a limiter that works has %d connections, must have one", server.Connections())
	}
}

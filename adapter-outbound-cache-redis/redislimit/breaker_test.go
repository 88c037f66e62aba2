package redislimit_test

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/failure"
)

// moody is a server that answers evaluations with what it is told, and with
// nothing when that is empty.
type moody struct {
	*fakeredis.Server
	mood atomic.Value
}

func newMoody(t *testing.T, mood string) *moody {
	m := new(moody)
	m.mood.Store(mood)
	m.Server = fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		return fakeredis.Reply{Text: m.mood.Load().(string)}
	}))
	return m
}

func (m *moody) limiter(t *testing.T, breaker redislimit.Breaker) *redislimit.Limiter {
	c := config(t, m.Addr, policySpec("p", hour))
	c.CommandTimeout, c.Breaker = 20*time.Millisecond, breaker
	return newLimiter(t, c)
}

// Ensure that a server which does not answer is left alone after as many
// evaluations as configured: the next ones are refused at once, without being
// sent, until one is let through to see.
func TestBreaker_LeavesASilentServerAlone(t *testing.T) {
	const failures, openFor = 3, 300 * time.Millisecond
	server := newMoody(t, "")
	limiter := server.limiter(t, redislimit.Breaker{Failures: failures, OpenFor: openFor})
	ask := func() string { return label(evaluate(t, limiter, request(t, "p", "somebody", 1))) }

	asked := 0
	for limiter.CheckBreaker(t.Context()) == nil {
		if asked++; asked > 10*failures { // some may be sent too late on a busy machine
			t.Fatal("the breaker does not say that it is open")
		}
		if got := ask(); got != "indeterminate no-reply" {
			t.Fatalf("outcome is %q", got)
		}
	}
	if asked < failures {
		t.Fatalf("open after %d evaluations", asked)
	}
	opened := time.Now()
	for time.Since(opened) < openFor/2 {
		if got := ask(); got != "unavailable connection" {
			t.Fatalf("outcome is %q", got)
		}
	}
	if sent := server.Evaluations(); sent != asked {
		t.Errorf("%d evaluations were sent, must be %d", sent, asked)
	}

	// One is let through, in vain, and then it is open again.
	eventually(t, limiter, "indeterminate no-reply", 10*openFor)
	if got := ask(); got != "unavailable connection" {
		t.Errorf("outcome is %q after a try in vain", got)
	}

	server.mood.Store(allowed)
	eventually(t, limiter, "allowed", 10*openFor)
	if got := ask(); got != "allowed" {
		t.Errorf("outcome is %q after a try that was answered", got)
	}
	if err := limiter.CheckBreaker(t.Context()); err != nil {
		t.Error(err)
	}
}

// Ensure that a server which does not answer is left alone although nearly all who
// ask leave their batch before it ends.
func TestBreaker_OpensForThoseWhoWait(t *testing.T) {
	const callers = 64
	server := newMoody(t, "")
	limiter := server.limiter(t, redislimit.Breaker{Failures: callers, OpenFor: time.Minute})
	asked := request(t, "p", "somebody", 1)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && limiter.CheckBreaker(t.Context()) == nil; {
				evaluate(t, limiter, asked)
			}
		})
	}
	all.Wait()
	if limiter.CheckBreaker(t.Context()) == nil {
		t.Error("the breaker does not open")
	}
}

// Ensure that neither error replies nor what ends for a reason of this process
// count: only a server that says nothing is left alone.
func TestBreaker_AnErrorIsAnAnswer(t *testing.T) {
	server := newMoody(t, "-LOADING Redis is loading the dataset in memory\r\n")
	limiter := server.limiter(t, redislimit.Breaker{Failures: 1, OpenFor: time.Minute})
	for range 10 {
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable store-unready")
		leaving, leave := context.WithTimeout(t.Context(), time.Minute)
		leave()
		wantLabel(t, limiter.Evaluate(leaving, request(t, "p", "somebody", 1)), "unavailable cancelled")
	}
	server.mood.Store("")
	wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "indeterminate no-reply")
	wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable connection")
}

// Ensure that a process which has too much to do does not take the server for
// silent: not by what it sent too late, nor by callers who left before it looked.
func TestBreaker_AnOverloadTeachesNothing(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for name, test := range map[string]struct {
		failed *certainty.Failure
		want   string
	}{
		"answered":                   {nil, "answers"},
		"an error":                   {&certainty.Failure{Category: failure.StoreFull, Err: redis.Nil}, "answers"},
		"no reply":                   {&certainty.Failure{Category: failure.NoReply, Waited: timeout, Err: os.ErrDeadlineExceeded}, "is silent"},
		"no reply in half the time":  {&certainty.Failure{Category: failure.NoReply, Waited: timeout / 2, Err: os.ErrDeadlineExceeded}, "is silent"},
		"sent late":                  {&certainty.Failure{Category: failure.NoReply, Waited: timeout/2 - 1, Err: os.ErrDeadlineExceeded}, "nothing"},
		"hangs up at once":           {&certainty.Failure{Category: failure.NoReply, Err: io.EOF}, "is silent"},
		"does not connect":           {&certainty.Failure{Category: failure.Connection, Err: context.DeadlineExceeded}, "is silent"},
		"found no place on the wire": {&certainty.Failure{Category: failure.Saturated, Err: context.DeadlineExceeded}, "nothing"},
		"the caller has left":        {&certainty.Failure{Category: failure.NoReply, Left: true, Err: context.DeadlineExceeded}, "nothing"},
	} {
		if got := redislimit.Learns(test.failed, timeout); got != test.want {
			t.Errorf("%s: the breaker learns that the server %s, must learn %s", name, got, test.want)
		}
	}
}

// Ensure that callers who leave before they are answered say nothing about the
// server, even where their evaluations were sent: otherwise clients that hang up
// together would shut everybody out.
func TestBreaker_WhoLeavesTeachesNothing(t *testing.T) {
	c := config(t, redistest.Primary(t).Addr, policySpec("p", hour))
	c.CommandTimeout = 10 * time.Second
	c.Breaker = redislimit.Breaker{Failures: 1, OpenFor: time.Minute}
	limiter := newLimiter(t, c)
	asked := request(t, "p", "somebody", 1)
	for range 20 {
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		var callers sync.WaitGroup
		var count atomic.Int64
		for range 64 {
			callers.Go(func() {
				for ctx.Err() == nil {
					limiter.Evaluate(ctx, asked)
					if count.Add(1) == 500 {
						leave()
					}
				}
			})
		}
		callers.Wait()
		leave()
		if err := limiter.CheckBreaker(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

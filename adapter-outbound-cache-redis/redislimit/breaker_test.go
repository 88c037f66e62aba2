package redislimit_test

import (
	"context"
	"fmt"
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

// moody is a server that does about evaluations what it is told.
type moody struct {
	*fakeredis.Server
	mood atomic.Pointer[fakeredis.Reply]
}

var (
	silent   = fakeredis.Reply{}
	hangsUp  = fakeredis.Reply{Close: true}
	loading  = fakeredis.Reply{Text: "-LOADING Redis is loading the dataset in memory\r\n"}
	obliging = fakeredis.Reply{Text: allowed}
)

func newMoody(t *testing.T, mood fakeredis.Reply) *moody {
	m := new(moody)
	m.mood.Store(&mood)
	m.Server = fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply { return *m.mood.Load() }))
	return m
}

func (m *moody) limiter(t *testing.T, commandTimeout time.Duration, breaker redislimit.Breaker) *redislimit.Limiter {
	c := config(t, m.Addr, policySpec("p", endlessFive))
	c.CommandTimeout, c.Breaker = commandTimeout, breaker
	return newLimiter(t, c)
}

// Ensure that a server which does not answer is left alone after as many
// evaluations as configured: the next ones are refused at once, without being sent.
func TestBreaker_LeavesASilentServerAlone(t *testing.T) {
	const failures = 3
	for name, test := range map[string]struct {
		mood           fakeredis.Reply
		commandTimeout time.Duration
		most           int // evaluations, of which a busy machine sends some too late to learn from them
	}{
		"says nothing": {silent, 50 * time.Millisecond, 10 * failures},
		"hangs up":     {hangsUp, commandTimeout, failures},
	} {
		t.Run(name, func(t *testing.T) {
			server := newMoody(t, test.mood)
			limiter := server.limiter(t, test.commandTimeout, redislimit.Breaker{Failures: failures, OpenFor: time.Minute})
			ask := func() string { return label(evaluate(t, limiter, request(t, "p", "somebody", 1))) }

			asked, sent := 0, 0
			for start := time.Now(); limiter.CheckBreaker(t.Context()) == nil; asked++ {
				if time.Since(start) > callerTimeout {
					t.Fatal("the breaker does not say that it is open")
				}
				switch got := ask(); got {
				case "indeterminate no-reply":
					sent++
				case "unavailable connection", "unavailable saturated": // too late to send it, on a busy machine
				default:
					t.Fatalf("outcome is %q", got)
				}
			}
			if asked < failures || asked > test.most {
				t.Fatalf("open after %d evaluations, must be after %d to %d", asked, failures, test.most)
			}
			awaitEvaluations(t, server.Server, sent)
			for range 20 {
				if got := ask(); got != "unavailable connection" {
					t.Fatalf("outcome is %q", got)
				}
			}
			if got := server.Evaluations(); got != sent {
				t.Errorf("%d evaluations were sent, must be %d", got, sent)
			}
		})
	}
}

// Ensure that now and then one evaluation is let through to a server that is left
// alone, that it is then left alone again if that one was in vain, and that all
// is well once one is answered.
func TestBreaker_LetsOneThroughToSee(t *testing.T) {
	const openFor = 50 * time.Millisecond
	server := newMoody(t, hangsUp)
	limiter := server.limiter(t, commandTimeout, redislimit.Breaker{Failures: 1, OpenFor: openFor})
	ask := func() string { return label(evaluate(t, limiter, request(t, "p", "somebody", 1))) }

	start, refused := time.Now(), 0
	for server.Evaluations() < 5 {
		switch got := ask(); got {
		case "indeterminate no-reply":
		case "unavailable connection":
			refused++
		default:
			t.Fatalf("outcome is %q", got)
		}
		if time.Since(start) > callerTimeout {
			t.Fatalf("only %d evaluations were let through", server.Evaluations())
		}
	}
	// The first one was sent before the breaker opened.
	if took := time.Since(start); took < 4*openFor || refused == 0 {
		t.Errorf("in %v %d evaluations were let through and %d refused, must be one in %v", took, server.Evaluations(), refused, openFor)
	}

	server.mood.Store(&obliging)
	awaitLabel(t, limiter, "allowed")
	for range 20 {
		if got := ask(); got != "allowed" {
			t.Errorf("outcome is %q after a try that was answered", got)
		}
	}
	if err := limiter.CheckBreaker(t.Context()); err != nil {
		t.Error(err)
	}
}

// Ensure that a server which does not answer is left alone although nearly all who
// ask leave their batch before it ends.
func TestBreaker_OpensForThoseWhoWait(t *testing.T) {
	const callers = 64
	server := newMoody(t, silent)
	limiter := server.limiter(t, 50*time.Millisecond, redislimit.Breaker{Failures: callers, OpenFor: time.Minute})
	asked := request(t, "p", "somebody", 1)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for until := time.Now().Add(callerTimeout); time.Now().Before(until) && limiter.CheckBreaker(t.Context()) == nil; {
				evaluate(t, limiter, asked)
			}
		})
	}
	all.Wait()
	if limiter.CheckBreaker(t.Context()) == nil {
		t.Error("the breaker does not open")
	}
}

// Ensure that the breaker hears what becomes of evaluations whose callers have left.
func TestBreaker_HearsWhatCallersMissed(t *testing.T) {
	const callers = 5
	var asked atomic.Int64
	queued, gone := make(chan struct{}), make(chan struct{})
	hangUp, hangUpAgain := sync.OnceFunc(func() { close(queued) }), sync.OnceFunc(func() { close(gone) })
	server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		switch asked.Add(1) {
		case 1:
			<-queued
			return hangsUp
		case 1 + callers:
			<-gone
			return hangsUp
		}
		return silent
	}))
	t.Cleanup(hangUp)
	t.Cleanup(hangUpAgain)
	c := config(t, server.Addr, policySpec("p", endlessFive))
	c.PoolSize = 1
	c.Breaker = redislimit.Breaker{Failures: 1 + callers, OpenFor: time.Minute}
	limiter := newLimiter(t, c)

	ctx, leave := context.WithTimeout(t.Context(), callerTimeout)
	defer leave()
	var all sync.WaitGroup
	for i := range 1 + callers { // the first has the only connection
		all.Go(func() { limiter.Evaluate(ctx, request(t, "p", "somebody", 1)) })
		awaitEvaluations(t, server, 1)
		eventually(t, fmt.Sprintf("%d evaluations wait", i), func() bool { return limiter.Waiting() == i })
	}
	hangUp()
	awaitEvaluations(t, server, 1+callers)
	leave()
	all.Wait()
	hangUpAgain()
	eventually(t, "the breaker is open", func() bool { return limiter.CheckBreaker(t.Context()) != nil })
}

// Ensure that neither error replies nor what ends for a reason of this process
// count: only a server that says nothing is left alone.
func TestBreaker_AnErrorIsAnAnswer(t *testing.T) {
	server := newMoody(t, loading)
	limiter := server.limiter(t, commandTimeout, redislimit.Breaker{Failures: 1, OpenFor: time.Minute})
	for range 10 {
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable store-unready")
		leaving, leave := context.WithTimeout(t.Context(), time.Minute)
		leave()
		wantLabel(t, limiter.Evaluate(leaving, request(t, "p", "somebody", 1)), "unavailable cancelled")
	}
	server.mood.Store(&hangsUp)
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
	c := config(t, redistest.Primary(t).Addr, policySpec("p", endlessFive))
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

package redislimit_test

import (
	"context"
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
		if asked++; asked > 10*failures { // some may end too late on a busy machine
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

// Ensure that a server is not left alone because of this process: while it answers
// others, or when the end of an evaluation is noticed long after its bound.
func TestBreaker_AnOverloadTeachesNothing(t *testing.T) {
	noReply := &certainty.Failure{Category: failure.NoReply, Err: context.DeadlineExceeded}
	soon, longAgo := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for name, test := range map[string]struct {
		bound    time.Time
		between  *certainty.Failure
		answered bool
		opens    bool
	}{
		"silent":                          {bound: soon, opens: true},
		"silent, and noticed late":        {bound: longAgo},
		"answers others":                  {bound: soon, answered: true},
		"answers others with errors":      {bound: soon, answered: true, between: &certainty.Failure{Category: failure.StoreFull, Err: redis.Nil}},
		"does not answer others either":   {bound: soon, answered: true, between: noReply, opens: true},
		"others left, which says nothing": {bound: soon, answered: true, between: &certainty.Failure{Category: failure.Cancelled, Err: context.Canceled}, opens: true},
	} {
		t.Run(name, func(t *testing.T) {
			report, state := redislimit.NewBreakerForTest(redislimit.Breaker{Failures: 4, OpenFor: time.Minute})
			var reports []func(*certainty.Failure)
			for range 4 {
				reports = append(reports, report(test.bound))
			}
			if test.answered {
				other := report(soon)
				time.Sleep(time.Millisecond) //nolint:forbidigo // the clock must have moved
				other(test.between)
			}
			for _, report := range reports {
				report(noReply)
			}
			if state() != test.opens {
				t.Errorf("open is %v, must be %v", state(), test.opens)
			}
		})
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

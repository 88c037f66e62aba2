package redislimit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// Bounds that tests of the timeouts use, and how much later than these an answer
// may come.
const (
	shortCommand = 50 * time.Millisecond
	shortPool    = 50 * time.Millisecond
	lateness     = 50 * time.Millisecond
)

func shortTempered(t *testing.T, server *redistest.Server, dispatch redislimit.Dispatch) redislimit.Config {
	c := config(t, server.Addr, policySpec("p", ratelimit.FixedWindow{Limit: 1_000_000, Window: endlessWindow}))
	c.Dispatch = dispatch
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = shortCommand, shortPool, 250*time.Millisecond
	return c
}

// tally counts outcomes by their label and keeps the longest answer, and how
// late this machine woke a goroutine meanwhile, which no limiter can help.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int
	longest time.Duration
	jitter  time.Duration
}

// wantOnlyFailures refuses a decision, and every failure that says something
// else than that the server does not answer, or that this machine is busy.
func (c *tally) wantOnlyFailures(t *testing.T, moment string) {
	t.Helper()
	for outcome := range c.counts {
		switch outcome {
		case "indeterminate no-reply", "unavailable connection", "unavailable saturated", "unavailable deadline-too-short":
		default:
			t.Errorf("%s: outcome %q", moment, outcome)
		}
	}
}

// A fault is repeated to see how long answers take. One round may meet a busy
// machine; a limiter that is late is late in all of them.
const (
	rounds = 3
	// mostRounds is how many there are while this machine spoils some.
	mostRounds = 30
	// calm is how late a calm machine wakes a goroutine at the most.
	calm = 5 * time.Millisecond
)

// wakeUps is how often, at the most, an evaluation waits for this machine to run
// it: for a connection, to write, and to read.
const wakeUps = 3

// punctuality is the best of several rounds.
type punctuality struct {
	bound   time.Duration
	noted   int
	spoiled int // of the noted ones
	best    time.Duration
}

// noteAnswers notes how long the longest answer took, less what the machine is to
// blame for: on a calm one that is next to nothing. On one that is not it could be
// anything, so no more than the lateness is excused, and a late round is spoiled.
func (p *punctuality) noteAnswers(round *tally) {
	took := round.longest - min(wakeUps*round.jitter, lateness)
	if took > p.bound && round.jitter > calm {
		p.spoiled++
	}
	p.note(took)
}

func (p *punctuality) note(took time.Duration) {
	if p.noted == 0 || took < p.best {
		p.best = took
	}
	p.noted++
}

func (p *punctuality) kept() bool { return p.noted > 0 && p.best <= p.bound }

// undecided reports whether another round may tell: only one that this machine
// spoiled is replaced.
func (p *punctuality) undecided() bool {
	return p.noted < rounds || !p.kept() && p.noted-p.spoiled < rounds && p.noted < mostRounds
}

func (p *punctuality) want(t *testing.T, what string) {
	t.Helper()
	if !p.kept() {
		t.Errorf("in each of %d rounds %s took %v or more, must be within %v", p.noted, what, p.best, p.bound)
	}
}

// watchMachine measures the jitter until ctx ends.
func (c *tally) watchMachine(ctx context.Context) {
	const nap = 5 * time.Millisecond
	for ctx.Err() == nil {
		start := time.Now()
		time.Sleep(nap)
		late := time.Since(start) - nap
		c.mu.Lock()
		c.jitter = max(c.jitter, late)
		c.mu.Unlock()
	}
}

func (c *tally) note(outcome string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	c.counts[outcome]++
	c.longest = max(c.longest, took)
}

// count is how often an outcome was noted so far.
func (c *tally) count(outcome string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[outcome]
}

// flood evaluates from many callers until ctx ends, from each once at least.
func flood(ctx context.Context, t *testing.T, port ratelimit.EdgePort, callers int) *tally {
	seen := new(tally)
	seen.flood(ctx, t, port, callers)
	return seen
}

func (c *tally) flood(ctx context.Context, t *testing.T, port ratelimit.EdgePort, callers int) {
	one := request(t, "p", "somebody", 1)
	var callersDone sync.WaitGroup
	for range 8 {
		callersDone.Go(func() { c.watchMachine(ctx) })
	}
	for range callers {
		callersDone.Go(func() {
			for {
				call, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
				start := time.Now()
				outcome := port.Evaluate(call, one)
				c.note(label(outcome), time.Since(start))
				cancel()
				time.Sleep(time.Millisecond)
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	callersDone.Wait()
}

func during(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// recoverWithin is the most that a recovery takes.
const recoverWithin = 2 * time.Second

// wantRecovery mends, and wants decisions before long. While they are late it
// strikes once more and mends again, and gives how often it did so.
func wantRecovery(t *testing.T, limiter *redislimit.Limiter, mend, strike func()) (strikes int) {
	t.Helper()
	for recovery := (punctuality{bound: recoverWithin}); ; strikes++ {
		mend()
		if recovery.note(awaitLabel(t, limiter, "allowed")); recovery.kept() || recovery.noted == rounds {
			recovery.want(t, "a recovery")
			return strikes
		}
		strike()
	}
}

// onDedicated runs f with a server of its own on every lane.
func onDedicated(t *testing.T, f func(t *testing.T, server *redistest.Server), arguments ...string) {
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) { f(t, redistest.Start(t, lane, arguments...)) })
	}
}

// onEachDispatch is onDedicated, for each way to dispatch.
func onEachDispatch(t *testing.T, f func(t *testing.T, server *redistest.Server, dispatch redislimit.Dispatch)) {
	onDedicated(t, func(t *testing.T, server *redistest.Server) {
		for _, dispatch := range redislimit.Dispatches() {
			t.Run(string(dispatch), func(t *testing.T) { f(t, server, dispatch) })
		}
	})
}

// Ensure that a server that is gone is answered as a connection failure, within
// the bound, and that decisions resume by themselves once it is back.
func TestServerStopsAndComesBack(t *testing.T) {
	onEachDispatch(t, func(t *testing.T, server *redistest.Server, dispatch redislimit.Dispatch) {
		var log memo
		c := shortTempered(t, server, dispatch)
		c.Logger = log.logger()
		limiter := newLimiter(t, c)
		awaitLabel(t, limiter, "allowed")

		server.Stop(t)
		answers, failures := punctuality{bound: shortPool + shortCommand + lateness}, 0
		strike := func() {
			seen := flood(during(t, 300*time.Millisecond), t, limiter, 16)
			seen.wantOnlyFailures(t, "while the server is gone")
			failures += seen.counts["unavailable connection"]
			answers.noteAnswers(seen)
		}
		for answers.undecided() {
			strike()
		}
		answers.want(t, "an answer")
		if failures == 0 {
			t.Error("no connection failure while the server is gone")
		}
		outages := 1 + wantRecovery(t, limiter, func() { server.Restart(t) }, func() {
			server.Stop(t)
			strike()
		})
		if n := strings.Count(log.String(), "redis does not decide"); n == 0 || n > 3*outages {
			t.Errorf("%d outages stand %d times in the log, must stand once or so each", outages, n)
		}
		if !strings.Contains(log.String(), "redis decides again") {
			t.Error("the recovery is not in the log")
		}
	})
}

// Ensure that a server that hangs in the middle of traffic is never taken for a
// permission, that each answer keeps the bound, and that decisions resume.
func TestServerHangsUnderTraffic(t *testing.T) {
	onEachDispatch(t, func(t *testing.T, server *redistest.Server, dispatch redislimit.Dispatch) {
		limiter := newLimiter(t, shortTempered(t, server, dispatch))
		const bound = shortPool + shortCommand + lateness
		around, within := punctuality{bound: bound}, punctuality{bound: bound}
		recovery := punctuality{bound: recoverWithin}
		awaitLabel(t, limiter, "allowed")
		for around.undecided() || within.undecided() || recovery.undecided() {
			traffic, stop := context.WithCancel(t.Context())
			interrupted := new(tally)
			var overlapping sync.WaitGroup
			overlapping.Go(func() { interrupted.flood(traffic, t, limiter, 128) })
			eventually(t, "128 are allowed", func() bool { return interrupted.count("allowed") >= 128 })
			server.Pause(t) // in the middle of traffic
			paused := flood(during(t, 300*time.Millisecond), t, limiter, 128)
			stop()
			overlapping.Wait()
			server.Resume(t)
			recovery.note(awaitLabel(t, limiter, "allowed"))

			paused.wantOnlyFailures(t, "in the pause")
			if interrupted.counts["indeterminate no-reply"] == 0 {
				t.Errorf("no request was in doubt when the server stopped: %v", interrupted.counts)
			}
			delete(interrupted.counts, "allowed") // before the pause
			interrupted.wantOnlyFailures(t, "around the pause")
			around.noteAnswers(interrupted)
			within.noteAnswers(paused)
		}
		around.want(t, "an answer around the pause")
		within.want(t, "an answer in the pause")
		recovery.want(t, "a recovery")
	})
}

// Ensure that a server that is not there at start is found later.
func TestServerDownAtStart(t *testing.T) {
	onEachDispatch(t, func(t *testing.T, server *redistest.Server, dispatch redislimit.Dispatch) {
		server.Stop(t)
		limiter := newLimiter(t, shortTempered(t, server, dispatch))
		wantUnready(t, limiter, "connection")
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable connection")
		wantRecovery(t, limiter, func() { server.Restart(t) }, func() {
			server.Stop(t)
			wantUnready(t, limiter, "connection")
		})
		eventually(t, "the limiter is ready", func() bool { return limiter.Prepare(during(t, callerTimeout)) == nil })
	})
}

// Ensure that a server which forgets its programs all the time miscounts no
// request and refuses next to none, namely when it forgets in between the two
// halves of a batch that brings the program along, and that the programs come back
// without EVAL.
func TestScriptFlushUnderLoad(t *testing.T) {
	const quota = 1_000_000
	ample := ratelimit.FixedWindow{Limit: quota, Window: endlessWindow}
	for name, test := range map[string]struct {
		ask  ask
		left func(decided any) []int64
	}{
		"one level": {askOne, func(decided any) []int64 {
			return []int64{decided.(ratelimit.Evaluated).Decision.Remaining}
		}},
		"several levels": {askTwo, func(decided any) []int64 {
			return leftAt(decided.(ratelimit.LayeredEvaluated).Decision)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				limiter := newLimiter(t, config(t, server.Addr, policySpec("p", ample), policySpec("q", ample)))
				admitted := flushUnderLoad(t, server.Client(t), func() any { return test.ask(t, limiter, "somebody") })
				last := test.ask(t, limiter, "somebody")
				wantLabel(t, last, "allowed")
				for _, left := range test.left(last) {
					if spent := quota - 1 - left; spent != int64(admitted) {
						t.Errorf("%d admitted, %d charged", admitted, spent)
					}
				}
			})
		})
	}
}

// flushUnderLoad lets callers ask while the server forgets its programs, and gives
// how often they were admitted.
func flushUnderLoad(t *testing.T, client *redis.Client, ask func() any) (admitted int) {
	t.Helper()
	const callers, flushes = 64, 40
	flushing, stop := context.WithCancel(t.Context())
	var flusher sync.WaitGroup
	flusher.Go(func() {
		defer stop()
		for range flushes {
			client.ScriptFlush(context.Background())
			time.Sleep(20 * time.Millisecond)
		}
	})
	var load sync.WaitGroup
	seen := new(tally)
	for range callers {
		load.Go(func() {
			for flushing.Err() == nil {
				seen.note(label(ask()), 0)
			}
		})
	}
	load.Wait()
	flusher.Wait()
	admitted, refused := seen.counts["allowed"], seen.counts["unavailable store-unready"]
	delete(seen.counts, "unavailable store-unready")
	if len(seen.counts) != 1 || refused > flushes/8*callers {
		t.Fatalf("outcomes %v and %d refusals with %d flushes, must be allowed but for a batch in one of 8 flushes", seen.counts, refused, flushes)
	}
	if admitted < 10*refused {
		t.Errorf("%d admitted and %d refused, must be ten admitted for each refusal", admitted, refused)
	}
	if stats := client.Info(t.Context(), "commandstats").Val(); strings.Contains(stats, "cmdstat_eval:") || !strings.Contains(stats, "cmdstat_evalsha:") {
		t.Errorf("programs were sent by EVAL: %s", stats)
	}
	return admitted
}

// Ensure that what the server refuses is told apart: a lasting refusal is not an
// outage, and a refusal inside a running program leaves the charge in doubt.
func TestServerRefuses(t *testing.T) {
	onDedicated(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		ctx := t.Context()
		as := func(user string) *redislimit.Limiter {
			c := config(t, server.Addr, policySpec("p", endlessFive))
			c.Username, c.Password = user, "hunter2"
			return newLimiter(t, c)
		}
		allowed := strings.Fields("reset on >hunter2 ~weir:1:* resetchannels -@all " +
			"+evalsha +script|load +time +exists +pexpire +hget +hset +zscore +zrange +zadd +zremrangebyscore")
		rules := func(user string, denied ...string) {
			if err := admin.ACLSetUser(ctx, user, append(slices.Clone(allowed), denied...)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		rules("full")
		wantLabel(t, evaluate(t, as("full"), request(t, "p", "full", 1)), "allowed")
		rules("mute", "-evalsha")
		wantLabel(t, evaluate(t, as("mute"), request(t, "p", "mute", 1)), "unavailable access-denied")
		rules("half", "-pexpire")
		wantLabel(t, evaluate(t, as("half"), request(t, "p", "half", 1)), "indeterminate access-denied")
		// The key it left has no time to live, and later requests run smoothly:
		// readiness is what must tell.
		for range 2 {
			wantUnready(t, as("half"), "access-denied")
		}
		wantUnready(t, as("mute"), "access-denied")
		wantUnready(t, as("full"), "")
		rules("blind", "-hget")
		wantLabel(t, evaluate(t, as("blind"), request(t, "p", "blind", 1)), "indeterminate access-denied")
		wantLabel(t, evaluate(t, as("nobody"), request(t, "p", "nobody", 1)), "unavailable access-denied")

		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", endlessFive)))
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "allowed")
		admin.ConfigSet(ctx, "maxmemory", "1")
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable store-full")
		wantUnready(t, limiter, "store-full")
		admin.ConfigSet(ctx, "maxmemory", "0")
		admin.ConfigSet(ctx, "min-replicas-to-write", "1")
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable store-full")
		admin.ConfigSet(ctx, "min-replicas-to-write", "0")
		admin.ReplicaOf(ctx, "127.0.0.1", "1")
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable store-unready")
		wantUnready(t, limiter, "store-unready")
		admin.ReplicaOf(ctx, "NO", "ONE")
		wantUnready(t, limiter, "")
		if decision := decide(t, limiter, request(t, "p", "somebody", 1)); decision.Remaining != 3 {
			t.Errorf("%d remaining, must be 3: a refusal was charged", decision.Remaining)
		}
	})
}

// wantUnready compares what the self-test says; "" means ready.
func wantUnready(t *testing.T, limiter *redislimit.Limiter, want string) {
	t.Helper()
	got := ""
	if err := limiter.Prepare(during(t, callerTimeout)); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("readiness says %q, must say %q", got, want)
	}
}

// Ensure that the pool's size bounds the connections, reloads included, and that
// they are gone once the limiter is closed.
func TestConnections(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		clients := func() int {
			return strings.Count(admin.ClientList(t.Context()).Val(), "cmd=evalsha") +
				strings.Count(admin.ClientList(t.Context()).Val(), "cmd=script")
		}
		c := config(t, server.Addr, policySpec("p", ratelimit.FixedWindow{Limit: 1_000_000, Window: endlessWindow}))
		c.PoolSize = 3
		limiter := newLimiter(t, c)
		for range 5 {
			admin.ScriptFlush(t.Context())
			var callers sync.WaitGroup
			for range 20 {
				callers.Go(func() { decide(t, limiter, request(t, "p", "somebody", 1)) })
			}
			callers.Wait()
		}
		if n := clients(); n < 1 || n > 3 {
			t.Errorf("%d connections, must be 1 to 3", n)
		}
		if err := limiter.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no connections are left after the close", func() bool { return clients() == 0 })
	})
}

// Ensure that more evaluations than admitted at one time are refused at once, and
// that there is room again once one of them has ended.
func TestAdmission(t *testing.T) {
	const most = 2
	server, letGo := startHolding(t, obliging)
	c := config(t, server.Addr, policySpec("p", endlessFive))
	c.MaxInFlight = most
	limiter := newLimiter(t, c)
	var waiting sync.WaitGroup
	seen := new(tally)
	for range most {
		waiting.Go(func() { seen.note(label(evaluate(t, limiter, request(t, "p", "somebody", 1))), 0) })
	}
	defer letGo()
	awaitEvaluations(t, server, most)
	wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable saturated")
	letGo()
	waiting.Wait()
	if seen.counts["allowed"] != most {
		t.Errorf("outcomes %v, must be %d allowed", seen.counts, most)
	}
	wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "allowed")
}

// startHolding starts a server that gives every evaluation the same reply, but none
// before it is let go.
func startHolding(t *testing.T, reply fakeredis.Reply) (server *fakeredis.Server, letGo func()) {
	t.Helper()
	answer := make(chan struct{})
	server = fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		<-answer
		return reply
	}))
	return server, sync.OnceFunc(func() { close(answer) })
}

// awaitEvaluations polls until as many have reached the server.
func awaitEvaluations(t *testing.T, server *fakeredis.Server, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d evaluations have arrived", want), func() bool { return server.Evaluations() >= want })
}

// Ensure that two limiters over one store admit exactly the quota between them.
func TestTwoLimitersShareTheQuota(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		for _, spec := range endless(50) {
			limiters := []*redislimit.Limiter{
				newLimiter(t, config(t, server.Addr, spec)),
				newLimiter(t, config(t, server.Addr, spec)),
			}
			one := request(t, spec.ID, "somebody", 1)
			var callers sync.WaitGroup
			seen := new(tally)
			for i := range 200 {
				callers.Go(func() { seen.note(label(evaluate(t, limiters[i%2], one)), 0) })
			}
			callers.Wait()
			if seen.counts["allowed"] != 50 || seen.counts["denied"] != 150 {
				t.Errorf("%s: outcomes %v, must be 50 allowed and 150 denied", spec.ID, seen.counts)
			}
		}
	})
}

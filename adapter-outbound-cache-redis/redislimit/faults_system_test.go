//go:build system

package redislimit_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// fault is what befalls a server or the way to it. Its functions run while 64
// callers ask.
type fault struct {
	name string
	// strike begins the fault, again repeats it all the time (nil: not), and mend
	// ends it.
	strike, again, mend func(*testing.T, *scene)
	// shows is the outcome by which callers notice the fault. Once they have, calls
	// that end before mend have it, or one of others.
	shows  string
	others []string
	// forgets: the server comes back without what was charged.
	forgets bool
	// halfway: a program may be stopped between two of its writes, so that of several
	// levels only some are charged.
	halfway bool
}

// scene is where a fault strikes.
type scene struct {
	server *redistest.Server
	proxy  *redistest.Proxy // which the limiter connects to
	admin  *redis.Client    // which bypasses it
}

// decision stands for both of them.
const decision = "decision"

var (
	// outage is how callers see a server that does not answer, from its first
	// moment on.
	outage = []string{"indeterminate no-reply", "unavailable connection", "unavailable saturated"}
	// interruptions come and go.
	interruptions = append([]string{decision}, outage...)
)

// faults are those after which the server has all charges.
func faults() []fault {
	return []fault{
		{
			name:   "killed",
			strike: func(t *testing.T, s *scene) { s.server.Stop(t) },
			mend: func(t *testing.T, s *scene) {
				s.server.Restart(t)
				s.grant(t)
			},
			shows: "unavailable connection", others: outage,
		},
		{
			name:   "paused",
			strike: func(t *testing.T, s *scene) { s.server.Pause(t) },
			mend:   func(t *testing.T, s *scene) { s.server.Resume(t) },
			shows:  "indeterminate no-reply", others: outage,
		},
		{
			name:  "clients killed",
			again: func(t *testing.T, s *scene) { s.disconnect(t) },
			shows: "indeterminate no-reply", others: interruptions,
		},
		{
			name: "programs flushed",
			again: func(t *testing.T, s *scene) {
				must(t, s.admin.ScriptFlush(t.Context()).Err())
			},
			// A program may be flushed again between its loading and its use, which the
			// network can deliver apart.
			shows: decision, others: []string{"unavailable store-unready"},
		},
		{
			name:   "made a replica",
			strike: func(t *testing.T, s *scene) { must(t, s.admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err()) },
			mend:   func(t *testing.T, s *scene) { must(t, s.admin.ReplicaOf(t.Context(), "NO", "ONE").Err()) },
			shows:  "unavailable store-unready",
		},
		{
			name:   "out of memory",
			strike: func(t *testing.T, s *scene) { must(t, s.admin.ConfigSet(t.Context(), "maxmemory", "1").Err()) },
			mend:   func(t *testing.T, s *scene) { must(t, s.admin.ConfigSet(t.Context(), "maxmemory", "0").Err()) },
			shows:  "unavailable store-full",
		},
		denied("evalsha", "unavailable access-denied"),
		denied("time", "indeterminate access-denied"),
		halfway(denied("hset", "indeterminate access-denied", decision)),
		halfway(denied("zadd", "indeterminate access-denied", decision)),
		halfway(denied("pexpire", "indeterminate access-denied", decision)),
		{
			name: "password changed",
			strike: func(t *testing.T, s *scene) {
				s.rule(t, "resetpass", ">another")
				s.disconnect(t)
			},
			mend:  func(t *testing.T, s *scene) { s.grant(t) },
			shows: "unavailable access-denied",
		},
		{
			name:   "cut off",
			strike: func(t *testing.T, s *scene) { s.proxy.Cut(t) },
			mend:   func(t *testing.T, s *scene) { s.proxy.Mend(t) },
			shows:  "unavailable connection", others: outage,
		},
		{
			name:  "connections break in requests",
			again: func(_ *testing.T, s *scene) { s.proxy.BreakRequestsAfter(rand.IntN(2000)) },
			mend:  passAgain,
			shows: "indeterminate no-reply", others: interruptions,
		},
		{
			name:  "connections break in replies",
			again: func(_ *testing.T, s *scene) { s.proxy.BreakRepliesAfter(rand.IntN(2000)) },
			mend:  passAgain,
			shows: "indeterminate no-reply", others: interruptions,
		},
		{
			name:   "requests vanish",
			strike: func(_ *testing.T, s *scene) { s.proxy.SwallowRequests() },
			mend:   passAgain,
			shows:  "indeterminate no-reply", others: outage,
		},
		{
			name:   "replies vanish",
			strike: func(_ *testing.T, s *scene) { s.proxy.SwallowReplies() },
			mend:   passAgain,
			shows:  "indeterminate no-reply", others: outage,
		},
		{
			name:   "slow network",
			strike: func(_ *testing.T, s *scene) { s.proxy.Delay(5 * time.Millisecond) },
			mend:   passAgain,
			shows:  decision,
		},
		{
			name:   "network slower than the timeout",
			strike: func(_ *testing.T, s *scene) { s.proxy.Delay(faultTimeout) },
			mend:   passAgain,
			shows:  "indeterminate no-reply", others: outage,
		},
	}
}

// amnesia is the fault after which the server has no charge.
func amnesia() fault {
	return fault{
		name:   "killed, and its data lost",
		strike: func(t *testing.T, s *scene) { s.server.Stop(t) },
		mend: func(t *testing.T, s *scene) {
			s.server.Restart(t)
			s.grant(t)
		},
		shows: "unavailable connection", others: outage,
		forgets: true,
	}
}

// denied takes a command away from the limiter's user.
func denied(command, shows string, others ...string) fault {
	return fault{
		name:   command + " denied",
		strike: func(t *testing.T, s *scene) { s.rule(t, "-"+command) },
		mend:   func(t *testing.T, s *scene) { s.grant(t) },
		shows:  shows, others: others,
	}
}

func halfway(f fault) fault {
	f.halfway = true
	return f
}

func passAgain(_ *testing.T, s *scene) { s.proxy.Pass() }

// The limiter's user, who may at first do everything.
const (
	faultUser     = "weir"
	faultPassword = "hunter2"
)

func (s *scene) grant(t *testing.T) {
	t.Helper()
	s.rule(t, "reset", "on", ">"+faultPassword, "~*", "+@all")
}

func (s *scene) rule(t *testing.T, rules ...string) {
	t.Helper()
	must(t, s.admin.ACLSetUser(t.Context(), faultUser, rules...).Err())
}

func (s *scene) disconnect(t *testing.T) {
	t.Helper()
	must(t, s.admin.ClientKillByFilter(t.Context(), "USER", faultUser).Err())
}

func newScene(t *testing.T, lane redistest.Lane, arguments ...string) *scene {
	t.Helper()
	server := redistest.Start(t, lane, arguments...)
	s := &scene{server: server, proxy: server.Proxy(t), admin: server.Client(t)}
	s.grant(t)
	return s
}

// lasting are the arguments of a server that has written every charge to its
// disk before it tells of it.
var lasting = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Ensure that no fault of a server or of the way to it lets the limiter admit
// more than the limit, charge what it did not admit, forget what it did, call a
// permanent refusal an outage, recover late, or leave something behind.
func TestSystemFaults(t *testing.T) {
	lanes, hold := redistest.Lanes(t)[:1], 300*time.Millisecond
	if os.Getenv("WEIR_SOAK") == "1" {
		lanes, hold = redistest.Lanes(t), 2*time.Second
	}
	for _, lane := range lanes {
		t.Run(lane.String(), func(t *testing.T) {
			durable, volatile := newScene(t, lane, lasting...), newScene(t, lane)
			for _, dispatch := range redislimit.Dispatches() {
				t.Run(string(dispatch), func(t *testing.T) {
					for _, fault := range faults() {
						t.Run(fault.name, func(t *testing.T) {
							run := faultRun{scene: durable, fault: fault, dispatch: dispatch, hold: hold}
							run.report(t)
						})
					}
					t.Run(amnesia().name, func(t *testing.T) {
						run := faultRun{scene: volatile, fault: amnesia(), dispatch: dispatch, hold: hold}
						run.report(t)
					})
				})
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

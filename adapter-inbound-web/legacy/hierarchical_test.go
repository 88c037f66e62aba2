package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Windows of the hierarchical limiters under test. The wider a level, the earlier
// its window is over, so that what the others remember can be seen.
const (
	agentWindow  = time.Minute
	orgWindow    = 30 * time.Second
	globalWindow = 10 * time.Second
)

var hierarchy = legacy.HierarchyPolicies{Agent: "agent-minute", Org: "org-minute", Global: "everybody"}

// limits are those of agent, organisation and everybody.
type limits struct{ agent, org, global int }

func (l limits) policies(t testing.TB) []ratelimit.Policy {
	t.Helper()
	return []ratelimit.Policy{
		slidingLog(t, "agent-minute", int64(l.agent), agentWindow),
		slidingLog(t, "org-minute", int64(l.org), orgWindow),
		slidingLog(t, "everybody", int64(l.global), globalWindow),
	}
}

func newHierarchical(t testing.TB, config legacy.Config) legacy.Limiter {
	t.Helper()
	limiter, err := legacy.NewHierarchicalLimiter(config, hierarchy)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// hierarchicalLimiters are the implementations that must behave alike.
var hierarchicalLimiters = map[string]func(testing.TB, limits) legacy.Limiter{
	"over a port": func(t testing.TB, l limits) legacy.Limiter {
		return newHierarchical(t, remembered(t, l.policies(t)...))
	},
	"in this process": func(t testing.TB, l limits) legacy.Limiter {
		t.Helper()
		limiter, err := legacy.NewLocalHierarchicalLimiter(local(t), legacy.HierarchyLimits{
			Agent:  legacy.LocalLimit{Limit: l.agent, Window: agentWindow},
			Org:    legacy.LocalLimit{Limit: l.org, Window: orgWindow},
			Global: legacy.LocalLimit{Limit: l.global, Window: globalWindow},
		})
		if err != nil {
			t.Fatal(err)
		}
		return limiter
	},
}

// Ensure that each level refuses by itself, that the error says which and how long
// to wait, and that a refusal leaves the other levels as they were.
func TestAllow(t *testing.T) {
	type call struct {
		times      int // of equal calls, all of which are answered alike
		agent, org string
		refusedBy  string
		retryAfter time.Duration
		wait       time.Duration // afterwards
	}
	tests := []struct {
		name   string
		limits limits
		calls  []call
	}{
		{"the agent has nothing left", limits{2, 3, 4}, []call{
			{times: 2, agent: "a", org: "acme"},
			{times: 5, agent: "a", org: "acme", refusedBy: "agent", retryAfter: agentWindow},
			{times: 1, agent: "b", org: "acme"}, // the organisation has two spent
			{times: 1, agent: "b", org: "acme", refusedBy: "org", retryAfter: orgWindow},
			{times: 1, agent: "a", org: "umbrella"}, // everybody has three spent
			{times: 1, agent: "a", org: "umbrella", refusedBy: "global", retryAfter: globalWindow},
		}},
		{"the organisation has nothing left", limits{2, 3, 9}, []call{
			{times: 1, agent: "a", org: "acme"},
			{times: 2, agent: "b", org: "acme"},
			{times: 5, agent: "a", org: "acme", refusedBy: "org", retryAfter: orgWindow},
			{times: 2, agent: "a", org: "umbrella", wait: orgWindow}, // another organisation, and another agent
			{times: 1, agent: "a", org: "acme"},                      // the agent has one spent
			{times: 1, agent: "a", org: "acme", refusedBy: "agent", retryAfter: agentWindow - orgWindow},
		}},
		{"everybody has nothing left", limits{2, 3, 3}, []call{
			{times: 1, agent: "a", org: "acme"},
			{times: 2, agent: "a", org: "umbrella"},
			{times: 5, agent: "a", org: "acme", refusedBy: "global", retryAfter: globalWindow},
			{times: 1, agent: "b", org: "acme", refusedBy: "global", retryAfter: globalWindow, wait: globalWindow},
			{times: 1, agent: "a", org: "acme"}, // the agent and the organisation have one spent
			{times: 1, agent: "a", org: "acme", refusedBy: "agent", retryAfter: agentWindow - globalWindow},
			{times: 1, agent: "b", org: "acme"},
			{times: 1, agent: "b", org: "acme", refusedBy: "org", retryAfter: orgWindow - globalWindow},
		}},
		{"the most specific level is named, and the longest wait", limits{1, 1, 1}, []call{
			{times: 1, agent: "a", org: "acme", wait: time.Second},
			{times: 2, agent: "a", org: "acme", refusedBy: "agent", retryAfter: agentWindow - time.Second},
			{times: 2, agent: "b", org: "acme", refusedBy: "org", retryAfter: orgWindow - time.Second},
			{times: 2, agent: "a", org: "umbrella", refusedBy: "global", retryAfter: globalWindow - time.Second},
		}},
		{"an organisation that is named as everybody", limits{9, 2, 9}, []call{
			{times: 2, agent: "global", org: "global"},
			{times: 1, agent: "global", org: "global", refusedBy: "org", retryAfter: orgWindow},
			{times: 1, agent: "global", org: "acme"},
		}},
	}
	for _, test := range tests {
		for name, limiterOf := range hierarchicalLimiters {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := limiterOf(t, test.limits)
					for i, call := range test.calls {
						want := admission
						if call.refusedBy != "" {
							want = refusal(call.refusedBy, call.retryAfter)
						}
						for range call.times {
							got := verdict(limiter.Allow(t.Context(), legacy.RateLimitRequest{AgentID: call.agent, OrgID: call.org}))
							if got != want {
								t.Errorf("call %d: got %s, want %s", i+1, got, want)
							}
						}
						time.Sleep(call.wait)
					}
				})
			})
		}
	}
}

const admission = "true <nil>"

func refusal(level string, retryAfter time.Duration) string {
	return fmt.Sprint("false ", level, " ", retryAfter)
}

// verdict is what a limiter answered, as admission, refusal or a failure.
func verdict(allowed bool, err error) string {
	if exceeded, ok := errors.AsType[legacy.ErrRateLimitExceeded](err); ok {
		return fmt.Sprint(allowed, " ", exceeded.Level, " ", exceeded.RetryAfter)
	}
	return fmt.Sprint(allowed, " ", err)
}

// Ensure that callers can ask for a refusal by any level, and by a certain one.
func TestErrRateLimitExceededIs(t *testing.T) {
	err := fmt.Errorf("call the provider: %w", legacy.ErrRateLimitExceeded{Level: legacy.LevelOrg, RetryAfter: time.Second})
	for _, test := range []struct {
		target error
		want   bool
	}{
		{legacy.ErrRateLimitExceeded{}, true},
		{legacy.ErrRateLimitExceeded{Level: legacy.LevelOrg}, true},
		{legacy.ErrRateLimitExceeded{Level: legacy.LevelAgent}, false},
		{legacy.UndecidedError{}, false},
	} {
		if got := errors.Is(err, test.target); got != test.want {
			t.Errorf("%#v: got %v, want %v", test.target, got, test.want)
		}
	}
}

// Ensure that whoever is not named is an error, that nothing was charged, and that
// it is no refusal.
func TestAllowRefuses(t *testing.T) {
	for name, limiterOf := range hierarchicalLimiters {
		t.Run(name, func(t *testing.T) {
			limiter := limiterOf(t, limits{1, 1, 1})
			allowed, err := limiter.Allow(t.Context(), legacy.RateLimitRequest{})
			want := "agentId: subject has 0 bytes, must have 1 to 1024; orgId: subject has 0 bytes, must have 1 to 1024"
			if _, ok := errors.AsType[ratelimit.Faults](err); allowed || !ok || err.Error() != want {
				t.Errorf("got  %v, %v\nwant %s", allowed, err, want)
			}
			if got := verdict(limiter.Allow(t.Context(), legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"})); got != admission {
				t.Errorf("afterwards got %s, want it admitted", got)
			}
		})
	}
}

// Ensure that a caller that has given up is told so, and not charged.
func TestAllowCancelled(t *testing.T) {
	for name, limiterOf := range hierarchicalLimiters {
		t.Run(name, func(t *testing.T) {
			limiter := limiterOf(t, limits{1, 1, 1})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			allowed, err := limiter.Allow(ctx, legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"})
			var undecided legacy.UndecidedError
			if allowed || !errors.As(err, &undecided) || undecided.Category() != failure.Cancelled || undecided.StoreGone() {
				t.Errorf("got %v, %v, want it undecided", allowed, err)
			}
			if got := verdict(limiter.Allow(t.Context(), legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"})); got != admission {
				t.Errorf("afterwards got %s, want it admitted", got)
			}
		})
	}
}

// Ensure that a store that gave no answer to a caller which hung up does not count
// as gone, so that hanging up opens no gate, and that our own deadline does.
func TestAllowHungUp(t *testing.T) {
	for name, test := range map[string]struct {
		patience time.Duration // of the caller
		gone     bool
	}{
		"the caller hangs up":  {legacy.DefaultDeadline - 1, false},
		"the deadline is over": {legacy.DefaultDeadline + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silent := portFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					<-ctx.Done()
					return ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0)(request)
				})
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				limiter := newHierarchical(t, over(t, silent, limits{1, 1, 1}.policies(t)...))
				allowed, err := limiter.Allow(ctx, legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"})
				undecided, ok := errors.AsType[legacy.UndecidedError](err)
				if allowed || !ok || undecided.Category() != failure.NoReply || undecided.StoreGone() != test.gone {
					t.Errorf("got %v, %+v, want the store gone: %v", allowed, err, test.gone)
				}
			})
		})
	}
}

// Ensure that what the port cannot decide is an error, and neither an admission
// nor a refusal.
func TestAllowUndecided(t *testing.T) {
	for _, test := range undecided() {
		t.Run(test.name, func(t *testing.T) {
			limiter := newHierarchical(t, over(t, test.port, limits{1, 1, 1}.policies(t)...))
			allowed, err := limiter.Allow(t.Context(), legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"})
			if allowed || errors.Is(err, legacy.ErrRateLimitExceeded{}) {
				t.Errorf("got %v, %v, want it undecided", allowed, err)
			}
			test.check(t, err)
		})
	}
}

// Ensure that the port is asked for the agent under its organisation, and for
// everybody under no organisation.
func TestAllowAsks(t *testing.T) {
	config := remembered(t, limits{1, 1, 1}.policies(t)...)
	recorder := &ratelimittest.LayeredRecorder{Next: config.Port}
	config.Port = recorder
	if _, err := newHierarchical(t, config).Allow(t.Context(), legacy.RateLimitRequest{AgentID: "a", OrgID: "acme"}); err != nil {
		t.Fatal(err)
	}
	request := recorder.Requests()[0]
	want := []ratelimit.Level{
		{Name: "agent", PolicyID: "agent-minute", Subject: digestOf(t, "a"), Cost: 1},
		{Name: "org", PolicyID: "org-minute", Subject: digestOf(t, "acme"), Cost: 1},
		{Name: "global", PolicyID: "everybody", Subject: digestOf(t, legacy.GlobalKey), Cost: 1, Shared: true},
	}
	for i, level := range request.Levels() {
		if level != want[i] {
			t.Errorf("got  %+v\nwant %+v", level, want[i])
		}
	}
	if request.Root() != digestOf(t, "acme") || request.Len() != len(want) {
		t.Errorf("got %d levels, want %d of the organisation", request.Len(), len(want))
	}
}

// Ensure that callers at the same time are admitted exactly up to the tightest
// level.
func TestAllowConcurrentSafe(t *testing.T) {
	const callers, agents = 200, 5
	for name, limiterOf := range hierarchicalLimiters {
		for _, test := range []struct {
			limits limits
			want   int64
		}{
			{limits{10, 100, 100}, agents * 10},
			{limits{30, 70, 100}, 70},
			{limits{30, 100, 60}, 60},
		} {
			t.Run(fmt.Sprint(name, test.limits), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := limiterOf(t, test.limits)
					var admitted atomic.Int64
					var group sync.WaitGroup
					for caller := range callers {
						group.Go(func() {
							req := legacy.RateLimitRequest{AgentID: fmt.Sprint(caller % agents), OrgID: "acme"}
							if allowed, err := limiter.Allow(t.Context(), req); allowed && err == nil {
								admitted.Add(1)
							}
						})
					}
					group.Wait()
					if got := admitted.Load(); got != test.want {
						t.Errorf("%d admitted, want %d", got, test.want)
					}
				})
			})
		}
	}
}

// Ensure that constructors return every fault, with field and bound.
func TestNewHierarchicalRefuses(t *testing.T) {
	good := remembered(t, limits{1, 1, 1}.policies(t)...)
	_, err := legacy.NewHierarchicalLimiter(good, legacy.HierarchyPolicies{Agent: "agent-minute", Org: "agent-minute"})
	want := `org-policy: is "agent-minute", must be another than agent-policy; global-policy: there is no policy ""`
	if _, ok := errors.AsType[ratelimit.Faults](err); !ok || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = legacy.NewLocalHierarchicalLimiter(local(t), legacy.HierarchyLimits{
		Agent: legacy.LocalLimit{Limit: 0, Window: time.Minute},
		Org:   legacy.LocalLimit{Limit: 1_000_000_001, Window: time.Minute},
	})
	want = "agent-limit: is 0, must be 1 to 1000000000; org-limit: is 1000000001, must be 1 to 1000000000; " +
		"global-window: is 0s, must be 1ms to 744h0m0s; global-limit: is 0, must be 1 to 1000000000"
	if _, ok := errors.AsType[ratelimit.Faults](err); !ok || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

func newDual(t *testing.T, server *redistest.Server) DualLayerLimiter {
	t.Helper()
	limiter, err := legacy.NewDualLimiter(
		overRedis(t, server.Addr, catalogOfTheProgram(t)),
		legacy.DualPolicies{Tenant: tenantPolicy, User: userPolicy},
	)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// dualCall is a number of equal calls, the last of which is answered with want.
type dualCall struct {
	times       int
	tenant      string
	tenantLimit int
	user        string
	userLimit   int
	want        string // allowed, what the tenant has left, what the user has left
}

// Ensure that a tenant and its users are limited together, and that what is not
// allowed leaves the store byte for byte as it was.
func TestAllowDual(t *testing.T) {
	for _, test := range []struct {
		name  string
		calls []dualCall
	}{
		{"both are fresh", []dualCall{
			{1, "acme", 10, "alice", 3, "true 9 2"},
			{1, "acme", 10, "alice", 3, "true 8 1"},
		}},
		{"the user is exhausted, and the tenant is not charged", []dualCall{
			{3, "acme", 10, "alice", 3, "true 7 0"},
			{3, "acme", 10, "alice", 3, "false 7 0"},
			{1, "acme", 10, "bob", 3, "true 6 2"},
		}},
		{"several users exhaust the tenant, and no user is charged any more", []dualCall{
			{3, "acme", 10, "alice", 3, "true 7 0"},
			{3, "acme", 10, "bob", 3, "true 4 0"},
			{3, "acme", 10, "carol", 3, "true 1 0"},
			{1, "acme", 10, "dave", 3, "true 0 2"},
			{3, "acme", 10, "dave", 3, "false 0 2"},
			{3, "acme", 10, "erin", 3, "false 0 3"},
		}},
		{"both are exhausted", []dualCall{
			{1, "acme", 1, "alice", 1, "true 0 0"},
			{1, "acme", 1, "alice", 1, "false 0 0"},
		}},
		{"another tenant is not affected", []dualCall{
			{2, "acme", 2, "alice", 3, "true 0 1"},
			{1, "acme", 2, "alice", 3, "false 0 1"},
			{1, "umbrella", 2, "bob", 3, "true 1 2"},
		}},
		{"the same user of another tenant is somebody else", []dualCall{
			{2, "acme", 10, "alice", 2, "true 8 0"},
			{1, "acme", 10, "alice", 2, "false 8 0"},
			{1, "umbrella", 10, "alice", 2, "true 9 1"},
		}},
		{"lowered limits keep what was spent", []dualCall{
			{3, "acme", 10, "alice", 5, "true 7 2"},
			{1, "acme", 10, "alice", 2, "false 7 0"},
			{1, "acme", 2, "alice", 5, "false 0 2"},
			{1, "acme", 4, "alice", 4, "true 0 0"},
		}},
		{"raised limits count at once", []dualCall{
			{2, "acme", 2, "alice", 2, "true 0 0"},
			{1, "acme", 2, "alice", 2, "false 0 0"},
			{1, "acme", 3, "alice", 5, "true 0 2"},
		}},
		{"the highest limits", []dualCall{
			{1, "acme", maxTenantLimit, "alice", maxUserLimit, "true 999 99"},
		}},
		{"limits above the policy's", []dualCall{
			{1, "acme", 1001, "alice", 3, "false 0 0 tenantLimit: is 1001, must be 1 to the policy's, 1000"},
			{1, "acme", 10, "alice", 101, "false 0 0 userLimit: is 101, must be 1 to the policy's, 100"},
			{1, "acme", 10, "alice", 3, "true 9 2"},
		}},
		{"limits that are none", []dualCall{
			{1, "acme", 0, "alice", 3, "false 0 0 tenantLimit: is 0, must be 1 to the policy's, 1000"},
			{1, "acme", 10, "alice", -1, "false 0 0 userLimit: is -1, must be 1 to the policy's, 100"},
			{1, "acme", 10, "alice", 3, "true 9 2"},
		}},
		{"keys that are none", []dualCall{
			{1, "", 10, "alice", 3, "false 0 0 tenantKey: subject has 0 bytes, must have 1 to 1024"},
			{1, "acme", 10, "", 3, "false 0 0 userKey: subject has 0 bytes, must have 1 to 1024"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				limiter, unchanged := newDual(t, server), watch(t, server)
				unchanged()
				for i, call := range test.calls {
					var got string
					for range call.times {
						var allowed bool
						allowed, got = call.make(limiter)
						if same := unchanged(); same == allowed {
							t.Errorf("call %d: allowed %v, the state stays the same %v", i+1, allowed, same)
						}
					}
					if got != call.want {
						t.Errorf("call %d: got %s, want %s", i+1, got, call.want)
					}
				}
			})
		})
	}
}

// make makes the call once.
func (c dualCall) make(limiter DualLayerLimiter) (allowed bool, answer string) {
	allowed, tenant, user, err := limiter.AllowDual(c.tenant, c.tenantLimit, c.user, c.userLimit)
	answer = fmt.Sprint(allowed, tenant, user)
	if err != nil {
		answer += " " + err.Error()
	}
	return allowed, answer
}

// Ensure that callers at the same time, in two processes, are admitted exactly up
// to the tightest level, and that every level has spent exactly what was admitted.
func TestAllowDualConcurrentSafe(t *testing.T) {
	const callers, users = 200, 4
	for _, test := range []struct {
		name                   string
		tenantLimit, userLimit int
		want                   int
	}{
		{"the tenant is tightest", 90, 30, 90},
		{"the users are tightest", 190, 30, users * 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				processes := []DualLayerLimiter{newDual(t, server), newDual(t, server)}
				var admitted [users]atomic.Int64
				var group sync.WaitGroup
				for caller := range callers {
					process, user := processes[caller%2], caller/2%users
					group.Go(func() {
						allowed, _, _, err := process.AllowDual("acme", test.tenantLimit, fmt.Sprint(user), test.userLimit)
						if err != nil {
							t.Error(err)
						}
						if allowed {
							admitted[user].Add(1)
						}
					})
				}
				group.Wait()
				total := 0
				for user := range users {
					one := int(admitted[user].Load())
					total += one
					// With a limit that the tenant has reached, nothing more is charged.
					allowed, _, left, err := processes[0].AllowDual("acme", 1, fmt.Sprint(user), maxUserLimit)
					if spent := maxUserLimit - left; allowed || err != nil || spent != one {
						t.Errorf("user %d has spent %d, want %d; allowed %v, error %v", user, spent, one, allowed, err)
					}
				}
				_, tenantLeft, _, err := processes[1].AllowDual("acme", maxTenantLimit, "another", maxUserLimit)
				if spent := maxTenantLimit - tenantLeft - 1; total != test.want || spent != total || err != nil {
					t.Errorf("%d were admitted and the tenant has spent %d, want %d; error %v", total, spent, test.want, err)
				}
			})
		})
	}
}

// Ensure that while the store is down every interface answers with an error that
// says so, and never with an admission or a refusal.
func TestStoreDown(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	dual, hierarchical := newDual(t, server), newHierarchical(t, server)
	single, err := legacy.NewKeyLimiter(overRedis(t, server.Addr, catalogOfTheProgram(t)), anonymousPolicy)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() (string, error){
		"AllowDual": func() (string, error) {
			allowed, tenant, user, err := dual.AllowDual("acme", 10, "alice", 3)
			return fmt.Sprint(allowed, tenant, user), err
		},
		"Allow of a key": func() (string, error) {
			allowed, remaining, err := single.Allow("alice", 3)
			return fmt.Sprint(allowed, remaining, 0), err
		},
		"Allow of an agent": func() (string, error) {
			allowed, err := hierarchical.Allow(t.Context(), legacy.RateLimitRequest{AgentID: "crawler", OrgID: "acme"})
			return fmt.Sprint(allowed, 0, 0), err
		},
	}
	for name, call := range calls {
		if answer, err := call(); err != nil {
			t.Fatalf("%s, before: got %s, %v", name, answer, err)
		}
	}
	server.Stop(t)
	for name, call := range calls {
		answer, err := call()
		undecided, ok := errors.AsType[legacy.UndecidedError](err)
		if answer != "false 0 0" || !ok || !undecided.StoreGone() || errors.Is(err, legacy.ErrRateLimitExceeded{}) {
			t.Errorf("%s: got %s, %v, want the store gone", name, answer, err)
		}
	}
}

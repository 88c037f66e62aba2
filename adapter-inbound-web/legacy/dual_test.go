package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Windows and highest limits of the dual limiters under test.
const (
	tenantWindow, userWindow = time.Minute, 10 * time.Second
	tenantMost, userMost     = 1000, 500
)

var dualPolicies = legacy.DualPolicies{Tenant: "tenant-minute", User: "user-minute"}

func dualPolicySet(t testing.TB) []ratelimit.Policy {
	t.Helper()
	return []ratelimit.Policy{slidingLog(t, "tenant-minute", tenantMost, tenantWindow), slidingLog(t, "user-minute", userMost, userWindow)}
}

func newDual(t testing.TB, config legacy.Config) legacy.DualLayerLimiter {
	t.Helper()
	limiter, err := legacy.NewDualLimiter(config, dualPolicies)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

func newLocalDual(t testing.TB) legacy.DualLayerLimiter {
	t.Helper()
	limiter, err := legacy.NewLocalDualLimiter(local(t), legacy.DualWindows{Tenant: tenantWindow, User: userWindow})
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// dualLimiters are the implementations that must behave alike.
var dualLimiters = map[string]func(testing.TB) legacy.DualLayerLimiter{
	"over a port":     func(t testing.TB) legacy.DualLayerLimiter { return newDual(t, remembered(t, dualPolicySet(t)...)) },
	"in this process": newLocalDual,
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

// Ensure that a tenant and its users are limited together, over a port and in
// this process alike.
func TestAllowDual(t *testing.T) {
	tests := []struct {
		name  string
		calls []dualCall // a window of the user apart if times is 0
	}{
		{"both are fresh", []dualCall{
			{1, "acme", 10, "alice", 3, "true 9 2"},
			{1, "acme", 10, "alice", 3, "true 8 1"},
		}},
		{"the user is exhausted, and the tenant is not charged", []dualCall{
			{3, "acme", 10, "alice", 3, "true 7 0"},
			{1, "acme", 10, "alice", 3, "false 7 0"},
			{5, "acme", 10, "alice", 3, "false 7 0"},
			{1, "acme", 10, "bob", 3, "true 6 2"},
		}},
		{"the tenant is exhausted, and no user is charged", []dualCall{
			{3, "acme", 10, "alice", 3, "true 7 0"},
			{3, "acme", 10, "bob", 3, "true 4 0"},
			{3, "acme", 10, "carol", 3, "true 1 0"},
			{1, "acme", 10, "dave", 3, "true 0 2"},
			{5, "acme", 10, "dave", 3, "false 0 2"},
			{5, "acme", 10, "erin", 3, "false 0 3"},
			{1, "acme", 11, "dave", 3, "true 0 1"},
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
			{1, "umbrella", 10, "alice", 2, "true 9 1"},
		}},
		{"a tenant that is named as its user", []dualCall{
			{2, "acme", 10, "acme", 2, "true 8 0"},
			{1, "acme", 10, "acme", 2, "false 8 0"},
			{1, "acme", 10, "alice", 2, "true 7 1"},
		}},
		{"keys do not run together", []dualCall{
			{1, "ab", 10, "c", 1, "true 9 0"},
			{1, "a", 10, "bc", 1, "true 9 0"},
			{1, "a", 10, "b:c", 1, "true 8 0"},
			{1, "a:b", 10, "c", 1, "true 9 0"},
		}},
		{"a lower limit of the user keeps what was spent", []dualCall{
			{3, "acme", 10, "alice", 5, "true 7 2"},
			{1, "acme", 10, "alice", 2, "false 7 0"},
			{1, "acme", 10, "alice", 4, "true 6 0"},
		}},
		{"a lower limit of the tenant keeps what was spent", []dualCall{
			{3, "acme", 10, "alice", 5, "true 7 2"},
			{1, "acme", 2, "alice", 5, "false 0 2"},
		}},
		{"limits that were raised count at once", []dualCall{
			{2, "acme", 2, "alice", 2, "true 0 0"},
			{1, "acme", 2, "alice", 2, "false 0 0"},
			{1, "acme", 3, "alice", 5, "true 0 2"},
		}},
		{"the highest limits", []dualCall{
			{1, "acme", tenantMost, "alice", userMost, "true 999 499"},
		}},
		{"the user's window is over, and the tenant's is not", []dualCall{
			{2, "acme", 10, "alice", 2, "true 8 0"},
			{1, "acme", 10, "alice", 2, "false 8 0"},
			{},
			{1, "acme", 10, "alice", 2, "true 7 1"},
		}},
		{"any bytes are a key", []dualCall{
			{1, "\x00\xff{acme}", 10, "\r\n*1\xc3\x28", 1, "true 9 0"},
			{1, "\x00\xff{acme}", 10, "\r\n*1\xc3\x28", 1, "false 9 0"},
			{1, "\x00\xff{acme}", 10, "\r\n*1\xc3\x29", 1, "true 8 0"},
			{1, "\x00", 10, " ", 1, "true 9 0"},
		}},
		{"an address is one client however it is written", []dualCall{
			{1, "acme", 10, "ip:192.0.2.1", 1, "true 9 0"},
			{1, "acme", 10, "ip:::ffff:192.0.2.1", 1, "false 9 0"},
		}},
		{"the longest keys", []dualCall{
			{1, strings.Repeat("t", 1024), 10, strings.Repeat("u", 1024), 1, "true 9 0"},
		}},
	}
	for _, test := range tests {
		for name, limiterOf := range dualLimiters {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := limiterOf(t)
					for i, call := range test.calls {
						if call.times == 0 {
							time.Sleep(userWindow)
						}
						got := ""
						for range call.times {
							allowed, tenant, user, err := limiter.AllowDual(call.tenant, call.tenantLimit, call.user, call.userLimit)
							got = fmt.Sprint(allowed, tenant, user)
							if err != nil {
								t.Fatalf("call %d: got %v", i+1, err)
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
}

// Ensure that arguments that make no sense are errors that name the argument and
// its bound, charge nothing, and are never taken for "unlimited".
func TestAllowDualRefuses(t *testing.T) {
	tests := []struct {
		name        string
		tenant      string
		tenantLimit int
		user        string
		userLimit   int
		want        map[string]string
	}{
		{"no limit of the tenant", "acme", 0, "alice", 3, map[string]string{
			"over a port":     "tenantLimit: is 0, must be 1 to the policy's, 1000",
			"in this process": "tenantLimit: is 0, must be 1 to 1000000000",
		}},
		{"a negative limit of the user", "acme", 10, "alice", -1, map[string]string{
			"over a port":     "userLimit: is -1, must be 1 to the policy's, 500",
			"in this process": "userLimit: is -1, must be 1 to 1000000000",
		}},
		{"limits above all bounds", "acme", math.MaxInt, "alice", locallimit.MaxLimit + 1, map[string]string{
			"over a port": "userLimit: is 1000000001, must be 1 to the policy's, 500; " +
				"tenantLimit: is 9223372036854775807, must be 1 to the policy's, 1000",
			"in this process": "userLimit: is 1000000001, must be 1 to 1000000000; " +
				"tenantLimit: is 9223372036854775807, must be 1 to 1000000000",
		}},
		{"a limit above the policy's", "acme", tenantMost + 1, "alice", userMost, map[string]string{
			"over a port": "tenantLimit: is 1001, must be 1 to the policy's, 1000",
		}},
		{"no keys", "", 10, "", 3, map[string]string{
			"over a port":     "userKey: subject has 0 bytes, must have 1 to 1024; tenantKey: subject has 0 bytes, must have 1 to 1024",
			"in this process": "userKey: subject has 0 bytes, must have 1 to 1024; tenantKey: subject has 0 bytes, must have 1 to 1024",
		}},
		{"a key that is too long", "acme", 10, strings.Repeat("u", 1025), 3, map[string]string{
			"over a port":     "userKey: subject has 1025 bytes, must have 1 to 1024",
			"in this process": "userKey: subject has 1025 bytes, must have 1 to 1024",
		}},
	}
	for _, test := range tests {
		for name, want := range test.want {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				limiter := dualLimiters[name](t)
				allowed, tenant, user, err := limiter.AllowDual(test.tenant, test.tenantLimit, test.user, test.userLimit)
				if _, ok := errors.AsType[ratelimit.Faults](err); allowed || tenant != 0 || user != 0 || !ok || err.Error() != want {
					t.Errorf("got  %v, %d, %d, %v\nwant %s", allowed, tenant, user, err, want)
				}
				if _, tenant, user, _ := limiter.AllowDual("acme", 10, "alice", 3); tenant != 9 || user != 2 {
					t.Errorf("afterwards %d and %d remain, want 9 and 2", tenant, user)
				}
			})
		}
	}
}

// Ensure that what the port cannot decide is an error, and never an admission.
func TestAllowDualUndecided(t *testing.T) {
	for _, test := range undecided() {
		t.Run(test.name, func(t *testing.T) {
			allowed, tenant, user, err := newDual(t, over(t, test.port, dualPolicySet(t)...)).AllowDual("acme", 10, "alice", 3)
			if allowed || tenant != 0 || user != 0 {
				t.Errorf("got %v, %d, %d, want a refusal", allowed, tenant, user)
			}
			test.check(t, err)
		})
	}
}

// Ensure that callers at the same time are admitted exactly up to the tightest
// level.
func TestAllowDualConcurrentSafe(t *testing.T) {
	const callers, users, tenantLimit, userLimit = 200, 4, 90, 30
	for name, limiterOf := range dualLimiters {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := limiterOf(t)
				var admitted [users]atomic.Int64
				var group sync.WaitGroup
				for caller := range callers {
					group.Go(func() {
						allowed, _, _, err := limiter.AllowDual("acme", tenantLimit, fmt.Sprint(caller%users), userLimit)
						if err != nil {
							t.Error(err)
						}
						if allowed {
							admitted[caller%users].Add(1)
						}
					})
				}
				group.Wait()
				total := 0
				for i := range admitted {
					total += int(admitted[i].Load())
					_, _, left, _ := limiter.AllowDual("acme", tenantLimit, fmt.Sprint(i), userMost)
					if spent := userMost - left; spent != int(admitted[i].Load()) {
						t.Errorf("user %d has spent %d, want %d", i, spent, admitted[i].Load())
					}
				}
				if total != tenantLimit {
					t.Errorf("%d admitted, want %d", total, tenantLimit)
				}
			})
		})
	}
}

// Ensure that an override of the policy holds for the limit of a call, too.
func TestAllowDualOverride(t *testing.T) {
	config := remembered(t, dualPolicySet(t)...)
	snapshot, err := config.Catalog.Current().WithOverrides(
		ratelimit.Override{PolicyID: "tenant-minute", Subject: digestOf(t, "large"), Limit: 5000},
		ratelimit.Override{PolicyID: "tenant-minute", Subject: digestOf(t, "small"), Limit: 5},
	)
	if err != nil {
		t.Fatal(err)
	}
	config.Catalog.Replace(snapshot)
	limiter := newDual(t, config)
	if allowed, tenant, _, err := limiter.AllowDual("large", 5000, "alice", 3); !allowed || tenant != 4999 || err != nil {
		t.Errorf("got %v, %d, %v, want 4999 left", allowed, tenant, err)
	}
	want := "tenantLimit: is 6, must be 1 to the policy's, 5"
	if _, _, _, err := limiter.AllowDual("small", 6, "alice", 3); text(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Ensure that a policy that is gone is an error of the port.
func TestAllowDualWithoutPolicy(t *testing.T) {
	config := remembered(t, dualPolicySet(t)...)
	limiter := newDual(t, config)
	config.Catalog.Replace(nil)
	allowed, _, _, err := limiter.AllowDual("acme", 10, "alice", 3)
	want := "rate limit undecided, an operator must act: " + string(failure.UnknownPolicy)
	if allowed || text(err) != want {
		t.Errorf("got  %v, %v\nwant %s", allowed, err, want)
	}
}

// Ensure that the port is asked for the user under its tenant, by pseudonyms, with
// the limits of the call.
func TestAllowDualAsks(t *testing.T) {
	config := remembered(t, dualPolicySet(t)...)
	recorder := &ratelimittest.LayeredRecorder{Next: config.Port}
	config.Port = recorder
	if _, _, _, err := newDual(t, config).AllowDual("acme", 10, "alice", 3); err != nil {
		t.Fatal(err)
	}
	request := recorder.Requests()[0]
	var got []ratelimit.Level
	for _, level := range request.Levels() {
		got = append(got, level)
	}
	want := []ratelimit.Level{
		{Name: "user", PolicyID: "user-minute", Subject: digestOf(t, "alice"), Cost: 1, Limit: 3},
		{Name: "tenant", PolicyID: "tenant-minute", Subject: digestOf(t, "acme"), Cost: 1, Limit: 10},
	}
	if request.Root() != digestOf(t, "acme") || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Ensure that every evaluation has a deadline, since the older form has none.
func TestDeadline(t *testing.T) {
	for _, test := range []struct{ given, want time.Duration }{
		{0, legacy.DefaultDeadline},
		{time.Second, time.Second},
	} {
		t.Run(test.given.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := over(t, portFunc(func(ctx context.Context, _ ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					if deadline, finite := ctx.Deadline(); !finite || time.Until(deadline) != test.want {
						t.Errorf("the deadline is in %v, want %v", time.Until(deadline), test.want)
					}
					return nil
				}), dualPolicySet(t)...)
				config.Deadline = test.given
				_, _, _, _ = newDual(t, config).AllowDual("acme", 10, "alice", 3)
			})
		})
	}
}

// Ensure that a width of IPv6 prefixes is that of all who ask the port.
func TestAddressing(t *testing.T) {
	config := remembered(t, dualPolicySet(t)...)
	config.Addressing = pseudonym.Addressing{IPv6Bits: 128}
	limiter := newDual(t, config)
	for _, user := range []string{"ip:2001:db8::1", "ip:2001:db8::2"} {
		if allowed, _, _, err := limiter.AllowDual("acme", 10, user, 1); !allowed || err != nil {
			t.Errorf("%s: got %v, %v, want it admitted", user, allowed, err)
		}
	}
}

// Ensure that constructors return every fault, with field and bound.
func TestNewDualRefuses(t *testing.T) {
	good := remembered(t, dualPolicySet(t)...)
	for name, test := range map[string]struct {
		make func() (*legacy.DualLimiter, error)
		want string
	}{
		"nothing": {
			func() (*legacy.DualLimiter, error) {
				return legacy.NewDualLimiter(legacy.Config{}, legacy.DualPolicies{Tenant: "a", User: "b"})
			},
			"port: must be given; catalog: must be given; pseudonym: must be given",
		},
		"no such policies": {
			func() (*legacy.DualLimiter, error) {
				return legacy.NewDualLimiter(good, legacy.DualPolicies{User: "nobody"})
			},
			`tenant-policy: there is no policy ""; user-policy: there is no policy "nobody"`,
		},
		"one policy for both": {
			func() (*legacy.DualLimiter, error) {
				return legacy.NewDualLimiter(good, legacy.DualPolicies{Tenant: "user-minute", User: "user-minute"})
			},
			`user-policy: is "user-minute", must be another than tenant-policy`,
		},
		"numbers out of range": {
			func() (*legacy.DualLimiter, error) {
				config := good
				config.Deadline, config.Addressing.IPv6Bits = -time.Second, 31
				return legacy.NewDualLimiter(config, dualPolicies)
			},
			"addressing: is 31, must be 32 to 128; deadline: is -1s, must not be negative",
		},
		"nothing, in this process": {
			func() (*legacy.DualLimiter, error) {
				return legacy.NewLocalDualLimiter(legacy.LocalConfig{}, legacy.DualWindows{})
			},
			"max-subjects: is 0, must be 1 to 10000000; pseudonym: must be given; " +
				"tenant-window: is 0s, must be 1ms to 744h0m0s; user-window: is 0s, must be 1ms to 744h0m0s",
		},
		"windows out of range": {
			func() (*legacy.DualLimiter, error) {
				return legacy.NewLocalDualLimiter(local(t), legacy.DualWindows{Tenant: 32 * 24 * time.Hour, User: time.Millisecond + 1})
			},
			"tenant-window: is 768h0m0s, must be 1ms to 744h0m0s; user-window: is 1.000001ms, must be a whole number of milliseconds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			limiter, err := test.make()
			if _, ok := errors.AsType[ratelimit.Faults](err); limiter != nil || !ok || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/ratelimit"
)

const keyMost = 100

func newKey(t testing.TB, config legacy.Config) legacy.RateLimiter {
	t.Helper()
	limiter, err := legacy.NewKeyLimiter(config, "key-minute")
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

func keyPolicy(t testing.TB) ratelimit.Policy {
	t.Helper()
	return slidingLog(t, "key-minute", keyMost, time.Minute)
}

// rateLimiters are the implementations that must behave alike.
var rateLimiters = map[string]func(testing.TB) legacy.RateLimiter{
	"over a port": func(t testing.TB) legacy.RateLimiter { return newKey(t, remembered(t, keyPolicy(t))) },
	"in this process": func(t testing.TB) legacy.RateLimiter {
		t.Helper()
		limiter, err := locallimit.New(locallimit.Config{Limit: keyMost, Window: time.Minute, MaxSubjects: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return limiter
	},
}

// Ensure that keys are limited by the limit of each call, over a port and in this
// process alike.
func TestAllowKey(t *testing.T) {
	type call struct {
		times int // a window apart if 0
		key   string
		limit int
		want  string // allowed, and what is left
	}
	tests := []struct {
		name  string
		calls []call
	}{
		{"counts down", []call{{1, "k", 3, "true 2"}, {2, "k", 3, "true 0"}, {3, "k", 3, "false 0"}}},
		{"keys are apart", []call{{1, "k", 1, "true 0"}, {1, "l", 1, "true 0"}, {1, "k", 1, "false 0"}}},
		{"a raise counts at once", []call{{1, "k", 1, "true 0"}, {1, "k", 1, "false 0"}, {1, "k", 3, "true 1"}}},
		{"a cut keeps what was spent", []call{{2, "k", 5, "true 3"}, {1, "k", 2, "false 0"}, {1, "k", 5, "true 2"}}},
		{"a window passes", []call{{1, "k", 1, "true 0"}, {1, "k", 1, "false 0"}, {}, {1, "k", 1, "true 0"}}},
		{"any bytes are a key", []call{{1, "\x00\xff\r\n", 1, "true 0"}, {1, "\x00\xff\r\n", 1, "false 0"}}},
	}
	for _, test := range tests {
		for name, limiterOf := range rateLimiters {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := limiterOf(t)
					for i, call := range test.calls {
						if call.times == 0 {
							time.Sleep(time.Minute)
						}
						got := ""
						for range call.times {
							allowed, remaining, err := limiter.Allow(call.key, call.limit)
							if got = fmt.Sprint(allowed, remaining); err != nil {
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

// Ensure that arguments that make no sense are errors and charge nothing.
func TestAllowKeyRefuses(t *testing.T) {
	for _, test := range []struct {
		key   string
		limit int
		want  string
	}{
		{"k", 0, "limit: is 0, must be 1 to the policy's, 100"},
		{"k", -1, "limit: is -1, must be 1 to the policy's, 100"},
		{"k", 101, "limit: is 101, must be 1 to the policy's, 100"},
		{"", 1, "key: subject has 0 bytes, must have 1 to 1024"},
		{strings.Repeat("k", 1025), 1, "key: subject has 1025 bytes, must have 1 to 1024"},
	} {
		t.Run(test.want, func(t *testing.T) {
			limiter := newKey(t, remembered(t, keyPolicy(t)))
			allowed, remaining, err := limiter.Allow(test.key, test.limit)
			if _, ok := errors.AsType[ratelimit.Faults](err); allowed || remaining != 0 || !ok || err.Error() != test.want {
				t.Errorf("got  %v, %d, %v\nwant %s", allowed, remaining, err, test.want)
			}
			if _, remaining, _ := limiter.Allow("k", 5); remaining != 4 {
				t.Errorf("afterwards %d remain, want 4", remaining)
			}
		})
	}
}

// Ensure that what the port cannot decide is an error, and never an admission.
func TestAllowKeyUndecided(t *testing.T) {
	for _, test := range undecided() {
		t.Run(test.name, func(t *testing.T) {
			allowed, remaining, err := newKey(t, over(t, test.port, keyPolicy(t))).Allow("k", 1)
			if allowed || remaining != 0 {
				t.Errorf("got %v, %d, want a refusal", allowed, remaining)
			}
			test.check(t, err)
		})
	}
}

// Ensure that a key is the counter of evaluations of that subject by itself, so
// that a program can move from the one to the other while it runs.
func TestAllowKeySharesTheCounter(t *testing.T) {
	config := remembered(t, keyPolicy(t))
	if _, _, err := newKey(t, config).Allow("k", 5); err != nil {
		t.Fatal(err)
	}
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{PolicyID: "key-minute", Subject: digestOf(t, "k"), Cost: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome := config.Port.(ratelimit.EdgePort).Evaluate(ctx, request)
	if evaluated, ok := outcome.(ratelimit.Evaluated); !ok || evaluated.Decision.Remaining != keyMost-2 {
		t.Errorf("got %+v, want %d left", outcome, keyMost-2)
	}
}

// Ensure that callers at the same time are admitted exactly up to the limit.
func TestAllowKeyConcurrentSafe(t *testing.T) {
	const callers, limit = 200, 50
	for name, limiterOf := range rateLimiters {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := limiterOf(t)
				var admitted atomic.Int64
				var group sync.WaitGroup
				for range callers {
					group.Go(func() {
						if allowed, _, err := limiter.Allow("k", limit); allowed && err == nil {
							admitted.Add(1)
						}
					})
				}
				group.Wait()
				if got := admitted.Load(); got != limit {
					t.Errorf("%d admitted, want %d", got, limit)
				}
			})
		})
	}
}

// Ensure that the policy must exist.
func TestNewKeyLimiterRefuses(t *testing.T) {
	limiter, err := legacy.NewKeyLimiter(remembered(t, keyPolicy(t)), "nothing")
	want := `policy: there is no policy "nothing"`
	if _, ok := errors.AsType[ratelimit.Faults](err); limiter != nil || !ok || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

package main

import (
	"errors"
	"testing"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// newHierarchical is of another application, which limits agents to 2 requests,
// organisations to 3 and everybody to 4. Its interface is kept in the same way.
func newHierarchical(t *testing.T, server *redistest.Server) legacy.Limiter {
	t.Helper()
	catalog, err := newSlidingLogs(map[string]int64{"agent": 2, "org": 3, "everybody": 4}, window)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := legacy.NewHierarchicalLimiter(
		overRedis(t, server.Addr, catalog),
		legacy.HierarchyPolicies{Agent: "agent", Org: "org", Global: "everybody"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// Ensure that a refusal names its level, the most specific one of several, and
// leaves all levels byte for byte as they were.
func TestAllowOfAHierarchy(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		limiter, unchanged := newHierarchical(t, server), watch(t, server)
		unchanged()
		for i, call := range []struct {
			agent, org string
			refusedBy  string // empty for allowed
		}{
			{"a", "acme", ""},
			{"a", "acme", ""},
			{"a", "acme", legacy.LevelAgent},
			{"a", "acme", legacy.LevelAgent},
			{"b", "acme", ""}, // so neither refusal was charged to the organisation
			{"b", "acme", legacy.LevelOrg},
			{"a", "umbrella", ""}, // another agent a, and nothing was charged to everybody
			{"a", "umbrella", legacy.LevelGlobal},
			{"b", "acme", legacy.LevelOrg}, // and by everybody
			{"a", "acme", legacy.LevelAgent},
		} {
			allowed, err := limiter.Allow(t.Context(), legacy.RateLimitRequest{AgentID: call.agent, OrgID: call.org})
			if same := unchanged(); same == allowed {
				t.Errorf("call %d: allowed %v, the state stays the same %v", i+1, allowed, same)
			}
			if call.refusedBy == "" {
				if !allowed || err != nil {
					t.Errorf("call %d: got %v, %v, want it allowed", i+1, allowed, err)
				}
				continue
			}
			exceeded, ok := errors.AsType[legacy.ErrRateLimitExceeded](err)
			if allowed || !ok || exceeded.Level != call.refusedBy || exceeded.RetryAfter <= 0 || exceeded.RetryAfter > window {
				t.Errorf("call %d: got %v, %v, want it refused by %s", i+1, allowed, err, call.refusedBy)
			}
			if !errors.Is(err, legacy.ErrRateLimitExceeded{}) {
				t.Errorf("call %d: %v is not ErrRateLimitExceeded", i+1, err)
			}
		}
	})
}

package redislimit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that a user's limit and that of all users of a tenant hold, whatever their
// algorithms: that a denial names the level that refuses and leaves every key byte
// for byte as it was, and that another tenant does not notice.
func TestUsersOfATenant(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for ofUser, user := range algorithmsWith(3) {
			for ofTenant, tenant := range algorithmsWith(10) {
				t.Run(ofUser+" and "+ofTenant, func(t *testing.T) {
					client.FlushAll(t.Context())
					limiter := newLimiter(t, config(t, server.Addr, policySpec("user", user), policySpec("tenant", tenant)))
					playTenants(t, limiter, client)
				})
			}
		}
	})
}

func playTenants(t *testing.T, limiter *redislimit.Limiter, client *redis.Client) {
	t.Helper()
	for i, step := range []struct {
		user, tenant string
		refusedBy    []string
		left         []int64
	}{
		{"ada", "first", nil, []int64{2, 9}},
		{"ada", "first", nil, []int64{1, 8}},
		{"ada", "first", nil, []int64{0, 7}},
		{"ada", "first", []string{"user"}, []int64{0, 7}},
		{"bob", "first", nil, []int64{2, 6}},
		{"bob", "first", nil, []int64{1, 5}},
		{"bob", "first", nil, []int64{0, 4}},
		{"cyd", "first", nil, []int64{2, 3}},
		{"cyd", "first", nil, []int64{1, 2}},
		{"cyd", "first", nil, []int64{0, 1}},
		{"dan", "first", nil, []int64{2, 0}},
		{"dan", "first", []string{"tenant"}, []int64{2, 0}},
		{"eve", "first", []string{"tenant"}, []int64{3, 0}},
		{"ada", "first", []string{"user", "tenant"}, []int64{0, 0}},
		{"ada", "second", nil, []int64{2, 9}},
	} {
		before := images(t, client)
		decision := decideLayers(t, limiter, layeredRequest(t, step.tenant, level(t, "user", step.user), level(t, "tenant", step.tenant)))
		if !slices.Equal(decision.RefusedBy(), step.refusedBy) || !slices.Equal(leftAt(decision), step.left) {
			t.Fatalf("step %d: refused by %q, %d left; must be %q and %d", i, decision.RefusedBy(), leftAt(decision), step.refusedBy, step.left)
		}
		after := images(t, client)
		if unchanged := maps.Equal(before, after); unchanged == decision.Allowed() {
			t.Fatalf("step %d: allowed %t, keys unchanged %t", i, decision.Allowed(), unchanged)
		}
		if tags := tagsOf(after); step.tenant == "second" && len(tags) != 2 {
			t.Errorf("step %d: two tenants live under the tags %q", i, tags)
		}
	}
}

// leftAt is what remains at each level.
func leftAt(decision ratelimit.LayeredDecision) []int64 {
	left := make([]int64, len(decision.Levels))
	for i, level := range decision.Levels {
		left[i] = level.Remaining
	}
	return left
}

// tagsOf are the different tags of keys.
func tagsOf(keys map[string]string) []string {
	var tags []string
	for key := range keys {
		tags = append(tags, tagOf(key))
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// tagOf is what a cluster computes the slot of a key from.
func tagOf(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

// Ensure that when one level is used up, wherever it stands and whatever the
// algorithms, a denial leaves all levels byte for byte as they were.
func TestUsedUpLevelLeavesTheOthers(t *testing.T) {
	places := []string{"agent", "org", "global"}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for _, chosen := range algorithmsAtPlaces() {
			client.FlushAll(t.Context())
			var specs []ratelimit.PolicySpec
			for i, place := range places {
				specs = append(specs, policySpec(place, algorithms()[chosen[i]]))
			}
			limiter := newLimiter(t, config(t, server.Addr, specs...))
			for tripped := range places {
				org := fmt.Sprint("org ", tripped)
				levels := []ratelimit.Level{
					level(t, "agent", "agent"), level(t, "org", org), shared(level(t, "global", org+" and all others")),
				}
				levels[tripped].Limit = 2
				one := layeredRequest(t, org, levels...)
				for range 2 {
					decideLayers(t, limiter, one)
				}
				before := images(t, client)
				decision := decideLayers(t, limiter, one)
				left := []int64{3, 3, 3}
				left[tripped] = 0
				if !slices.Equal(decision.RefusedBy(), places[tripped:tripped+1]) || !slices.Equal(leftAt(decision), left) {
					t.Errorf("%q: refused by %q, %d left; must be %q and %d", chosen, decision.RefusedBy(), leftAt(decision), places[tripped], left)
				}
				if !maps.Equal(images(t, client), before) {
					t.Errorf("%q: a denial by %q changed a key", chosen, places[tripped])
				}
			}
		}
	})
}

// algorithmsAtPlaces are ways to choose algorithms for three places: at any two of
// them each meets each.
func algorithmsAtPlaces() [][]string {
	names := slices.Sorted(maps.Keys(algorithms()))
	var chosen [][]string
	for i, first := range names {
		for j, second := range names {
			chosen = append(chosen, []string{first, second, names[(i+j)%len(names)]})
		}
	}
	return chosen
}

// Ensure which levels and evaluations are one counter, and which are apart.
func TestCountersOfLevels(t *testing.T) {
	type call func(*testing.T, *redislimit.Limiter) ratelimit.Decision
	alone := func(subject string) call {
		return func(t *testing.T, limiter *redislimit.Limiter) ratelimit.Decision {
			return decide(t, limiter, request(t, "p", subject, 1))
		}
	}
	under := func(root, subject string, edits ...func(ratelimit.Level) ratelimit.Level) call {
		return func(t *testing.T, limiter *redislimit.Limiter) ratelimit.Decision {
			one := level(t, "p", subject)
			for _, edit := range edits {
				one = edit(one)
			}
			return decideLayers(t, limiter, layeredRequest(t, root, one)).Levels[0].Decision
		}
	}
	limited := func(level ratelimit.Level) ratelimit.Level {
		level.Limit = 4
		return level
	}
	named := func(level ratelimit.Level) ratelimit.Level {
		level.Name = "another"
		return level
	}
	eachAlgorithm(t, func(t *testing.T, client *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		limiter := newLimiter(t, config(t, server.Addr, policySpec("p", parameters)))
		for name, test := range map[string]struct {
			first, second call
			left          int64 // after both
		}{
			"the root's level and the root alone":       {under("org", "org"), alone("org"), 3},
			"the root alone and the root's level":       {alone("org"), under("org", "org"), 3},
			"a level by another name":                   {under("org", "user"), under("org", "user", named), 3},
			"a level with a limit":                      {under("org", "user"), under("org", "user", limited), 2},
			"shared by two roots":                       {under("org", "all", shared), under("other", "all", shared), 3},
			"shared, and alone":                         {under("org", "all", shared), alone("all"), 3},
			"shared, and the root's own":                {under("org", "all", shared), under("all", "all"), 3},
			"a user of two roots":                       {under("org", "user"), under("other", "user"), 4},
			"a user of a root, and alone":               {under("org", "user"), alone("user"), 4},
			"a user of a root, and shared":              {under("org", "user"), under("org", "user", shared), 4},
			"two users of a root":                       {under("org", "user"), under("org", "another user"), 4},
			"the root's level, and the root as another": {under("org", "org"), under("other", "org"), 4},
		} {
			client.FlushAll(t.Context())
			test.first(t, limiter)
			decision := test.second(t, limiter)
			keys := client.DBSize(t.Context()).Val()
			if one := test.left < 4; decision.Remaining != test.left || (keys == 1) != one {
				t.Errorf("%s: %d left and %d keys, must be %d left and one counter %t", name, decision.Remaining, keys, test.left, one)
			}
		}
	})
}

// Ensure that a subject's override holds wherever its policy is enforced: alone, at
// a level, and below a level's own limit.
func TestOverridesHold(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, _ *redis.Client, server *redistest.Server, parameters ratelimit.Parameters) {
		c := config(t, server.Addr, policySpec("p", parameters))
		overridden, err := c.Catalog.Current().WithOverrides(
			ratelimit.Override{PolicyID: "p", Subject: digest(t, "favoured"), Limit: 8},
			ratelimit.Override{PolicyID: "p", Subject: digest(t, "restrained"), Limit: 2},
		)
		if err != nil {
			t.Fatal(err)
		}
		c.Catalog.Replace(overridden)
		limiter := newLimiter(t, c)
		for subject, quota := range map[string]int64{"favoured": 8, "restrained": 2, "anybody": 5} {
			one := level(t, "p", subject)
			want := func(decision ratelimit.Decision, limit, left int64) {
				t.Helper()
				if !decision.Allowed || decision.Limit != limit || decision.Policy.Quota() != limit || decision.Remaining != left {
					t.Errorf("%s: decision is %+v, must be allowed with %d of %d remaining", subject, decision, left, limit)
				}
			}
			want(decide(t, limiter, request(t, "p", subject, 1)), quota, quota-1)
			want(decideLayers(t, limiter, layeredRequest(t, "org", one)).Levels[0].Decision, quota, quota-1)
			one.Limit = quota - 1
			if quota > 2 {
				want(decideLayers(t, limiter, layeredRequest(t, "org", one)).Levels[0].Decision, quota-1, quota-3)
			}
			wantLabel(t, evaluate(t, limiter, request(t, "p", subject, quota+1)), "unavailable invalid-request")
			one.Limit = quota + 1
			wantLabel(t, evaluateLayers(t, limiter, layeredRequest(t, "org", one)), "unavailable invalid-request")
		}
	})
}

// Ensure that what a batch makes of a call that was withdrawn, one without its last
// argument, charges no level.
func TestWithdrawnLevelsHaveNoEffect(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		program := lua.Layered()
		if err := client.ScriptLoad(t.Context(), program.Source).Err(); err != nil {
			t.Fatal(err)
		}
		keys := []string{"weir:1:a", "weir:1:b"}
		const argument = "fw1:1:3600000 5 5 0 0 1"
		for _, test := range []struct {
			last string
			want int64 // keys
		}{{"", 0}, {argument, 2}} {
			if err := client.EvalSha(t.Context(), program.SHA1, keys, argument, test.last).Err(); err != nil {
				t.Fatal(err)
			}
			if got := client.DBSize(t.Context()).Val(); got != test.want {
				t.Errorf("with the last argument %q %d keys are written, must be %d", test.last, got, test.want)
			}
		}
	})
}

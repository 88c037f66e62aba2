package config_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/pseudonym"
)

// levelPolicies is a file that has everything but levels.
const levelPolicies = `
app:
  rate-limit:
    default-policy: edge
    redis: {endpoint: "redis://127.0.0.1:6379/0", hmac-secret-file: hmac}
    policies:
      edge: {revision: 1, algorithm: fixed-window, limit: 100, window: 1m, max-cost: 10, cleanup-grace: 1m, max-clock-regression: 250ms}
      user: {revision: 1, algorithm: sliding-log, limit: 20, window: 1m, max-cost: 5, cleanup-grace: 1m, max-clock-regression: 250ms}
      tenant: {revision: 1, algorithm: token-bucket, capacity: 100, refill-tokens: 1, refill-interval: 1s, max-cost: 5, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// layered is a file with a set of levels under rate-limit and more under web.
func layered(set, web string) string {
	return levelPolicies + "    layered: {" + set + "}\n  web: {" + web + "}\n"
}

const (
	tenantUser   = "tenant-user: {levels: [{name: user, policy: user}, {name: tenant, policy: tenant}]}"
	sharedTenant = "tenant-user: {levels: [{name: user, policy: user}, {name: tenant, policy: tenant, shared: true}]}"

	identities = `identities: {user: "header:X-User", tenant: "header:X-Tenant"}`
	useIt      = "layers: {set: tenant-user, " + identities + "}"
)

// Ensure that a set arrives with its levels, each with the subject of its
// identity, and with the defaults of what was left out.
func TestLoad_Layers(t *testing.T) {
	cfg := mustLoad(t, layered(
		`agents: {levels: [{name: agent, policy: user}, {name: org, policy: tenant}, {name: global, policy: edge, shared: true}]}`,
		`layers: {set: agents, identities: {agent: "header:x-agent", org: client-ip, global: "fixed:everybody"}}`))
	got := cfg.Web.Layers
	if got == nil || got.Set != "agents" || got.Edge.FailureMode != edge.FailOpen || got.Edge.Root != "" || got.Edge.Replicas != 0 || got.Edge.Port != nil {
		t.Fatalf("got %+v", got)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("X-Agent", "007")
	want := []struct {
		name, policy string
		shared       bool
		subject      string
	}{
		{"agent", "user", false, "header:X-Agent:007"},
		{"org", "tenant", false, "ip:192.0.2.1"},
		{"global", "edge", true, "everybody"},
	}
	if len(got.Edge.Levels) != len(want) {
		t.Fatalf("got %d levels, want %d", len(got.Edge.Levels), len(want))
	}
	for i, level := range got.Edge.Levels {
		if level.Name != want[i].name || level.Policy != want[i].policy || level.Shared != want[i].shared {
			t.Errorf("level %d is %+v, want %+v", i, level, want[i])
		}
		if who, err := level.Subject.Extract(r); err != nil || who != parse(t, want[i].subject) {
			t.Errorf("level %s: another subject than %s: %v", level.Name, want[i].subject, err)
		}
	}
}

func parse(t *testing.T, text string) pseudonym.Subject {
	t.Helper()
	who, err := pseudonym.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// Ensure that what a set can say otherwise arrives as it was written.
func TestLoad_LayersFailureMode(t *testing.T) {
	for _, mode := range []edge.FailureMode{edge.FailClosed, edge.FailOpen, edge.LocalFallback} {
		set := "tenant-user: {failure-mode: " + string(mode) + ", root: user, levels: [{name: user, policy: user}, {name: tenant, policy: tenant}]}"
		cfg := mustLoad(t, layered(set, useIt), "app.web.fallback.replicas=10000")
		if got := cfg.Web.Layers.Edge; got.FailureMode != mode || got.Root != "user" || got.Replicas != 10000 {
			t.Errorf("%s: got %+v", mode, got)
		}
	}
}

// Ensure that headers that name a level's subject are believed from the proxies of
// app.web.subject alone, and that one who lacks its header is nobody.
func TestLoad_LayersTrustTheProxies(t *testing.T) {
	cfg := mustLoad(t, layered(tenantUser, useIt+", subject: {missing: client-ip, trusted-proxies: [10.0.0.1]}"))
	for _, test := range []struct {
		name, peer, header string
		named              bool
	}{
		{"proxy", "10.0.0.1:1", "u", true},
		{"anybody", "10.0.0.2:1", "u", false},
		{"without a header", "10.0.0.1:1", "", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("X-User", test.header)
		if subject, err := cfg.Web.Layers.Edge.Levels[0].Subject.Extract(r); (err == nil) != test.named {
			t.Errorf("%s: got %v, %v", test.name, subject, err)
		}
	}
}

// Ensure that one client is as wide for levels as for all else.
func TestLoad_LayersAddressing(t *testing.T) {
	web := `layers: {set: tenant-user, identities: {user: client-ip, tenant: "fixed:ip:2001:db8:0:1::1"}}, subject: {ipv6-prefix: 56}`
	cfg := mustLoad(t, layered(sharedTenant, web))
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.RemoteAddr = "[2001:db8:0:ff::1]:1"
	user, _ := cfg.Web.Layers.Edge.Levels[0].Subject.Extract(r)
	tenant, _ := cfg.Web.Layers.Edge.Levels[1].Subject.Extract(r)
	if user.IsZero() || user != tenant {
		t.Error("two addresses of one /56 are two subjects")
	}
}

// Ensure that each mistake about levels is reported, alone, under the key that was
// written.
func TestLoad_LayersFaults(t *testing.T) {
	const who = "tenant-of-somebody"
	nine := strings.TrimSuffix(strings.Repeat("{name: user, policy: user}, ", 9), ", ")
	for _, test := range []struct {
		name, yaml string
		set        []string
		want       []string // all faults
	}{
		{"unknown key of a set", layered("tenant-user: {failure-mod: fail-open, levels: [{name: user, policy: user}]}", ""), nil,
			[]string{"app.rate-limit.layered.tenant-user.failure-mod: is not a known key, did you mean app.rate-limit.layered.tenant-user.failure-mode?"}},
		{"unknown key of a level", layered("tenant-user: {levels: [{name: user, policy: user, share: true}]}", ""), nil,
			[]string{"app.rate-limit.layered.tenant-user.levels[0].share: is not a known key, did you mean app.rate-limit.layered.tenant-user.levels[0].shared?"}},
		{"null set", layered("tenant-user: ~", "layers: {set: tenant-user, identities: {user: client-ip}}"), nil,
			[]string{"app.rate-limit.layered.tenant-user: has no value"}},
		{"null sets", levelPolicies + "    layered:\n  web: {layers: {set: tenant-user}}\n", nil,
			[]string{"app.rate-limit.layered: has no value"}},
		{"value for a set", layered("tenant-user: 5", "layers: {set: tenant-user, identities: {user: client-ip}}"), nil,
			[]string{"app.rate-limit.layered.tenant-user: must be a section with keys of its own"}},
		{"value for the levels", layered("tenant-user: {levels: user}", "layers: {set: tenant-user, identities: {user: client-ip}}"), nil,
			[]string{"app.rate-limit.layered.tenant-user.levels: must be a list of entries, which only the file can hold"}},
		{"value for a level", layered("tenant-user: {levels: [5, ~, {name: tenant, policy: tenant}]}", useIt), nil, []string{
			"app.rate-limit.layered.tenant-user.levels[0]: must be a section with keys of its own",
			"app.rate-limit.layered.tenant-user.levels[1]: has no value",
		}},
		{"wrong types in a set", layered("tenant-user: {failure-mode: 5, root: [a], levels: [{name: 5, policy: true, shared: 1}]}", ""), nil, []string{
			"app.rate-limit.layered.tenant-user.failure-mode: must be text; put it in quotes",
			"app.rate-limit.layered.tenant-user.levels[0].name: must be text; put it in quotes",
			"app.rate-limit.layered.tenant-user.levels[0].policy: must be text; put it in quotes",
			"app.rate-limit.layered.tenant-user.levels[0].shared: must be true or false",
			"app.rate-limit.layered.tenant-user.root: must be text; put it in quotes",
		}},
		{"name of a set", layered("Tenant: {levels: [{name: user, policy: user}]}", ""), nil,
			[]string{"app.rate-limit.layered.Tenant: is no name for a set of levels, must match ^[a-z][a-z0-9-]{0,62}$"}},
		{"empty set", layered("tenant-user: {}", ""), nil,
			[]string{"app.rate-limit.layered.tenant-user.levels: are 0, must be 1 to 8"}},
		{"too many levels", layered("tenant-user: {levels: ["+nine+"]}", ""), nil,
			[]string{"app.rate-limit.layered.tenant-user.levels: are 9, must be 1 to 8"}},
		{"empty level", layered("tenant-user: {levels: [{}]}", ""), nil, []string{
			"app.rate-limit.layered.tenant-user.levels[0].name: must be given",
			"app.rate-limit.layered.tenant-user.levels[0].policy: must be given",
		}},
		{"levels", layered("tenant-user: {failure-mode: open, root: org, levels: [{name: user, policy: nobody}, {name: User, policy: tenant}, {name: user, policy: tenant}]}", ""), nil, []string{
			"app.rate-limit.layered.tenant-user.failure-mode: must be fail-open, fail-closed or local-fallback",
			`app.rate-limit.layered.tenant-user.levels[0].policy: there is no policy "nobody"`,
			"app.rate-limit.layered.tenant-user.levels[1].name: must match ^[a-z][a-z0-9-]{0,62}$",
			"app.rate-limit.layered.tenant-user.levels[2].name: is given twice",
			"app.rate-limit.layered.tenant-user.levels[2].policy: is that of level User already",
			`app.rate-limit.layered.tenant-user.root: there is no level "org"`,
		}},
		{"no failure mode", layered(`tenant-user: {failure-mode: "", levels: [{name: user, policy: user}]}`, ""), nil,
			[]string{"app.rate-limit.layered.tenant-user.failure-mode: must be fail-open, fail-closed or local-fallback"}},
		{"level of a faulty policy", strings.ReplaceAll(layered(tenantUser, useIt), "limit: 20", "limit: 0"), nil,
			[]string{"app.rate-limit.policies.user.limit: is 0, must be 1 to 10000"}},

		{"unknown key of the layers", layered(tenantUser, "layers: {sets: tenant-user, "+identities+"}"), nil, []string{
			"app.web.layers.set: must be given, because app.web.layers.identities is",
			"app.web.layers.sets: is not a known key, did you mean app.web.layers.set?",
		}},
		{"null layers", layered(tenantUser, "layers: ~"), nil,
			[]string{"app.web.layers: has no value"}},
		{"unknown set", layered(tenantUser, "layers: {set: nobody, "+identities+"}"), nil,
			[]string{`app.web.layers.set: names "nobody", which app.rate-limit.layered does not define`}},
		{"identities of no set", layered(tenantUser, "layers: {"+identities+"}"), nil,
			[]string{"app.web.layers.set: must be given, because app.web.layers.identities is"}},
		{"no identities", layered(tenantUser, "layers: {set: tenant-user}"), nil, []string{
			"app.web.layers.identities.tenant: must be given, because set tenant-user has that level",
			"app.web.layers.identities.user: must be given, because set tenant-user has that level",
		}},
		{"value for the identities", layered(tenantUser, "layers: {set: tenant-user, identities: client-ip}"), nil,
			[]string{"app.web.layers.identities: must be a section with keys of its own"}},
		{"identities", layered(tenantUser, `layers: {set: tenant-user, identities: {user: "header:X Y", org: client-ip, tenant: "Fixed:`+who+`"}}`), nil, []string{
			"app.web.layers.identities.org: names no level of set tenant-user",
			"app.web.layers.identities.tenant: must be client-ip, header:<Name> or fixed:<subject>",
			`app.web.layers.identities.user: names "X Y", which cannot be the name of a header`,
		}},
		{"identities of wrong types", layered(tenantUser, "layers: {set: tenant-user, identities: {user: 5, tenant: ~}}"), nil, []string{
			"app.web.layers.identities.tenant: has no value",
			"app.web.layers.identities.user: must be text; put it in quotes",
		}},
		{"empty identities", layered(tenantUser, `layers: {set: tenant-user, identities: {user: "", tenant: "fixed:"}}`), nil, []string{
			"app.web.layers.identities.tenant: subject has 0 bytes, must have 1 to 1024",
			"app.web.layers.identities.user: must be client-ip, header:<Name> or fixed:<subject>",
		}},
		{"identity that is logged", layered(tenantUser, `layers: {set: tenant-user, identities: {user: "header:x-request-id", tenant: client-ip}}`), nil,
			[]string{"app.web.layers.identities.user: names X-Request-Id, which is logged and repeated in answers and so must not identify a client"}},
		{"faults of the subject are not those of levels", layered(sharedTenant, `layers: {set: tenant-user, identities: {user: client-ip, tenant: "fixed:ip:2001:db8::1"}}, subject: {ipv6-prefix: 31, forwarded: x, trusted-proxies: [y]}`), nil, []string{
			`app.web.subject.forwarded: is "x", must be x-forwarded-for or forwarded`,
			"app.web.subject.ipv6-prefix: is 31, must be 32 to 128",
			`app.web.subject.trusted-proxies[0]: is "y", must be an address or a CIDR prefix`,
		}},
		{"one subject for a root", layered(tenantUser, `layers: {set: tenant-user, identities: {user: client-ip, tenant: "fixed:`+who+`"}}`), nil,
			[]string{"app.web.layers.identities.tenant: is one subject for all requests, so the level must be shared: say shared: true in app.rate-limit.layered.tenant-user.levels[1]"}},
		{"one subject for a level of a root", layered(tenantUser, `layers: {set: tenant-user, identities: {user: "fixed:`+who+`", tenant: client-ip}}`), nil,
			[]string{"app.web.layers.identities.user: is one subject for all requests, so the level must be shared: say shared: true in app.rate-limit.layered.tenant-user.levels[0]"}},
		{"one subject for a level that may be shared", layered("tenant-user: {levels: [{name: user, policy: user}, {name: tenant, policy: tenant, shared: 1}]}", `layers: {set: tenant-user, identities: {user: client-ip, tenant: "fixed:all"}}`), nil,
			[]string{"app.rate-limit.layered.tenant-user.levels[1].shared: must be true or false"}},
		{"cost above a level's maximum", layered(tenantUser, useIt+`, routes: [{pattern: /a, cost: 6}, {pattern: /b, cost: 6, policy: edge}]`), nil,
			[]string{"app.web.routes[0].cost: is 6, must be 1 to 5"}},
		{"replicas", layered(tenantUser, useIt), []string{"app.web.fallback.replicas=10001"},
			[]string{"app.web.fallback.replicas: is 10001, must be 0 to 10000"}},
		{"negative replicas", "", []string{"app.web.fallback.replicas=-1"},
			[]string{"app.web.fallback.replicas: is -1, must be 0 to 10000"}},
		{"levels from elsewhere than the file", levelPolicies, []string{"app.rate-limit.layered.tenant-user.levels=user"},
			[]string{"app.rate-limit.layered.tenant-user.levels: must be a list of entries, which only the file can hold"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := load(test.yaml, test.set...)
			got := faultsOf(t, err).Error()
			if got != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(test.want, "\n"))
			}
			if strings.Contains(got, who) {
				t.Errorf("a subject is in\n%s", got)
			}
		})
	}
}

// Ensure that one subject for all requests can be at a level that is shared, and at
// one that is by itself, which is counted the same either way.
func TestLoad_LayersOfOneSubject(t *testing.T) {
	for _, yaml := range []string{
		layered(sharedTenant, `layers: {set: tenant-user, identities: {user: client-ip, tenant: "fixed:all"}}`),
		layered("all: {levels: [{name: all, policy: tenant}]}", `layers: {set: all, identities: {all: "fixed:all"}}`),
	} {
		if _, _, err := load(yaml); err != nil {
			t.Error(err)
		}
	}
}

// Ensure that what has no effect is said, and does not stop the start.
func TestLoad_LayersWarnings(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		set        []string
		want       []string // keys of all warnings
	}{
		{"in use", layered(tenantUser, useIt), nil, nil},
		{"another set", layered(tenantUser+", agents: {levels: [{name: agent, policy: user}]}", useIt), nil,
			[]string{"app.rate-limit.layered.agents"}},
		{"no set", layered(tenantUser, ""), nil, []string{"app.rate-limit.layered.tenant-user"}},
		{"replicas of a gate", layered(tenantUser, useIt), []string{"app.web.fallback.replicas=2"},
			[]string{"app.web.fallback.replicas"}},
		{"replicas of nothing", "", []string{"app.web.fallback.replicas=2"}, []string{"app.web.fallback.replicas"}},
		{"no replicas of nothing", "", []string{"app.web.fallback.replicas=0"}, nil},
		{"disabled", `
app:
  web: {layers: {set: nobody, identities: {Nobody: nonsense}}}
  rate-limit:
    layered: {Nobody: {failure-mode: never, levels: [{}]}}
    overrides: [{limit: 0}]
`, nil, []string{
			"app.rate-limit.layered.Nobody", "app.rate-limit.overrides",
			"app.web.layers.identities.Nobody", "app.web.layers.set",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, warnings, err := load(test.yaml, test.set...)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, warning := range warnings {
				keys = append(keys, warning.Key)
			}
			if !slices.Equal(keys, test.want) {
				t.Errorf("warnings about %q, want %q", keys, test.want)
			}
			if used := strings.Contains(test.yaml, useIt); (cfg.Web.Layers != nil) != used {
				t.Errorf("layers are %+v", cfg.Web.Layers)
			}
		})
	}
}

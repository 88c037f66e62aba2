package config_test

import (
	"strings"
	"testing"

	"example.com/weir/shared-contract/pseudonym"
)

// overridden is a file with overrides.
func overridden(list string) string { return levelPolicies + "    overrides: [" + list + "]\n" }

// Ensure that overrides hold for the subjects that they name, under the digests
// that the edge and the decision API make, and for nobody else.
func TestLoad_Overrides(t *testing.T) {
	cfg := mustLoad(t, overridden(`{policy: tenant, subject: "header:x-tenant:acme", limit: 1000}, {policy: user, subject: tenant-7, limit: 1}, {policy: user, subject: "ip:2001:db8:0:1::1", limit: 2}`),
		"app.web.subject.ipv6-prefix=56")
	hmac, err := pseudonym.NewSecret([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		policy, subject string
		want            int64
	}{
		{"tenant", "header:X-Tenant:acme", 1000},
		{"tenant", "header:X-Tenant:other", 100},
		{"tenant", "tenant-7", 100},
		{"user", "tenant-7", 1},
		{"user", "ip:2001:db8:0:ff::1", 2},
		{"user", "ip:2001:db8:0:100::1", 20},
	} {
		who, err := cfg.Web.Subject.Addressing.ParseSubject(test.subject)
		if err != nil {
			t.Fatal(err)
		}
		policy, _ := cfg.RateLimit.Policies.PolicyFor(test.policy, who.Digest(hmac.SubjectKey()))
		if policy.Quota() != test.want {
			t.Errorf("%s under %s has %d, want %d", test.subject, test.policy, policy.Quota(), test.want)
		}
	}
	if policy, _ := cfg.RateLimit.Policies.Policy("user"); policy.Quota() != 20 {
		t.Errorf("the policy itself has %d", policy.Quota())
	}
}

// Ensure that each mistake about an override is reported under its key, and that
// no message repeats who it is about.
func TestLoad_OverridesFaults(t *testing.T) {
	const who = "tenant-of-somebody"
	for _, test := range []struct {
		name, yaml string
		set        []string
		want       []string // all faults
	}{
		{"null", levelPolicies + "    overrides:\n", nil,
			[]string{"app.rate-limit.overrides: has no value"}},
		{"section", levelPolicies + "    overrides: {policy: user}\n", nil,
			[]string{"app.rate-limit.overrides: must be a list", "app.rate-limit.overrides.policy: is not a known key"}},
		{"elsewhere than in the file", levelPolicies, []string{"app.rate-limit.overrides=" + who},
			[]string{"app.rate-limit.overrides: must be a list of entries, which only the file can hold"}},
		{"unknown key", overridden("{policy: user, subject: " + who + ", limit: 1, cost: 1}"), nil,
			[]string{"app.rate-limit.overrides[0].cost: is not a known key"}},
		{"value", overridden("5, ~"), nil, []string{
			"app.rate-limit.overrides[0]: must be a section with keys of its own",
			"app.rate-limit.overrides[1]: has no value",
		}},
		{"empty", overridden("{}, {}"), nil, []string{
			"app.rate-limit.overrides[0].limit: must be given", "app.rate-limit.overrides[0].policy: must be given", "app.rate-limit.overrides[0].subject: must be given",
			"app.rate-limit.overrides[1].limit: must be given", "app.rate-limit.overrides[1].policy: must be given", "app.rate-limit.overrides[1].subject: must be given",
		}},
		{"wrong types", overridden("{policy: [user], subject: {x: " + who + "}, limit: many}"), nil, []string{
			"app.rate-limit.overrides[0].limit: must be a whole number in decimal digits, such as 100",
			"app.rate-limit.overrides[0].policy: must be text; put it in quotes",
			"app.rate-limit.overrides[0].subject: must be text; put it in quotes", "app.rate-limit.overrides[0].subject.x: is not a known key",
		}},
		{"number for a subject", overridden("{policy: user, subject: 12345, limit: 1}"), nil,
			[]string{"app.rate-limit.overrides[0].subject: must be text; put it in quotes"}},
		{"subject too long", overridden("{policy: user, subject: " + strings.Repeat("x", 1025) + ", limit: 1}"), nil,
			[]string{"app.rate-limit.overrides[0].subject: subject has 1025 bytes, must have 1 to 1024"}},
		{"unknown policy", overridden("{policy: nobody, subject: " + who + ", limit: 1}"), nil,
			[]string{`app.rate-limit.overrides[0].policy: there is no policy "nobody"`}},
		{"limits", overridden("{policy: user, subject: " + who + ", limit: 0}, {policy: user, subject: other, limit: 10001}, {policy: tenant, subject: x, limit: 99999999999999999999}, {policy: edge, subject: x, limit: 1000000000000000}"), nil, []string{
			"app.rate-limit.overrides[0].limit: is 0, must be 1 to 10000",
			"app.rate-limit.overrides[1].limit: is 10001, must be 1 to 10000",
			"app.rate-limit.overrides[2].limit: must be 1 to 999999999999999",
			"app.rate-limit.overrides[3].limit: is 1000000000000000, must be 1 to 999999999999999",
		}},
		{"twice", overridden(`{policy: user, subject: "ip:192.0.2.1", limit: 1}, {policy: tenant, subject: "ip:192.0.2.1", limit: 1}, {policy: user, subject: "ip:::ffff:192.0.2.1", limit: 2}`), nil,
			[]string{"app.rate-limit.overrides[2].subject: has an override of policy user already"}},
		{"without a secret", overridden("{policy: user, subject: " + who + ", limit: 0}"), []string{"app.rate-limit.redis.hmac-secret-file=nowhere"}, []string{
			"app.rate-limit.overrides[0].limit: is 0, must be 1 to 10000",
			"app.rate-limit.redis.hmac-secret-file: names a file that cannot be read: file does not exist",
		}},
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

// Ensure that an override which refuses its subject for ever is named, with the
// dearest route that it does so on.
func TestLoad_OverridesBelowTheCostOfRoutes(t *testing.T) {
	const routes = ", routes: [{pattern: /a, cost: 2}, {pattern: /b, cost: 5}, {pattern: /c, cost: 4, policy: edge}, {pattern: /d, cost: 3}, {pattern: /e, exempt: true}]"
	with := func(policy, limit, web string) string {
		return levelPolicies + "    layered: {" + tenantUser + "}\n    overrides: [{policy: tenant, subject: \"header:X-Tenant:a\", limit: 5}, {policy: " + policy +
			", subject: \"header:X-User:somebody\", limit: " + limit + "}]\n  web: {" + web + "}\n"
	}
	const noLayers = "headers: both"
	for _, test := range []struct {
		name, yaml string
		want       string // what is warned of, besides the set
	}{
		{"as much as the dearest", with("user", "5", useIt+routes), ""},
		{"a level", with("user", "4", useIt+routes), "is below 5, the cost of app.web.routes[1], where its subject is refused for ever"},
		{"a level of no set in use", with("user", "1", noLayers+routes), ""},
		{"the default policy", with("edge", "1", noLayers+routes), "is below 5, the cost of app.web.routes[1], where its subject is refused for ever"},
		{"the default policy beside levels", with("edge", "4", useIt+routes), "is below 5, the cost of app.web.routes[1], where its subject is refused for ever"},
		{"a route's policy", with("user", "3", noLayers+", routes: [{pattern: /a, cost: 4, policy: user}, {pattern: /b, cost: 5}]"),
			"is below 4, the cost of app.web.routes[0], where its subject is refused for ever"},
		{"no cost", with("edge", "1", useIt+", routes: [{pattern: /a}]"), ""},
		{"no routes", with("edge", "1", useIt), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := warningsOf(t, test.yaml)["app.rate-limit.overrides[1].limit"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// warningsOf are the notes of a file without faults, by their keys.
func warningsOf(t *testing.T, yaml string) map[string]string {
	t.Helper()
	_, warnings, err := load(yaml)
	if err != nil {
		t.Fatal(err)
	}
	notes := make(map[string]string)
	for _, warning := range warnings {
		notes[warning.Key] = warning.Note
	}
	return notes
}

// Ensure that an override is named whose subject no request has at the only level
// that it could matter at, without repeating who it is, and that others are not.
func TestLoad_OverridesOfNobody(t *testing.T) {
	const who = "tenant-of-somebody"
	for _, test := range []struct {
		name, identity, subject string
		policy, web             string // of the level; besides the levels
		warned                  bool
	}{
		{"header", "header:X-Tenant", "header:X-Tenant:" + who, "tenant", "", false},
		{"header, spelt otherwise", "header:x-tenant", "header:X-TENANT:" + who, "tenant", "", false},
		{"another header", "header:X-Tenant", "header:X-Tenant-Id:" + who, "tenant", "", true},
		{"text for a header", "header:X-Tenant", who, "tenant", "", true},
		{"address for a header", "header:X-Tenant", "ip:192.0.2.1", "tenant", "", true},
		{"address", "client-ip", "ip:192.0.2.1", "tenant", "", false},
		{"network", "client-ip", "ip:2001:db8::/64", "tenant", "", false},
		{"network of another width", "client-ip", "ip:2001:db8::/48", "tenant", "", true},
		{"header for an address", "client-ip", "header:X-Tenant:" + who, "tenant", "", true},
		{"the one subject", "fixed:" + who, who, "tenant", "", false},
		{"another than the one subject", "fixed:all", who, "tenant", "", true},
		{"under the default policy too", "client-ip", who, "edge", "", false},
		{"under a policy that a route names too", "client-ip", who, "tenant", ", routes: [{pattern: /a, policy: tenant}]", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := strings.Replace(sharedTenant, "policy: tenant", "policy: "+test.policy, 1)
			yaml := levelPolicies + "    layered: {" + set + "}\n    overrides: [{policy: " + test.policy + `, subject: "` + test.subject + "\", limit: 5}]\n" +
				`  web: {layers: {set: tenant-user, identities: {user: "header:X-User", tenant: "` + test.identity + `"}}` + test.web + "}\n"
			note, warned := warningsOf(t, yaml)["app.rate-limit.overrides[0].subject"]
			if warned != test.warned || warned && !strings.Contains(note, "at level tenant") {
				t.Errorf("got %q, want a warning: %t", note, test.warned)
			}
			if strings.Contains(note, who) {
				t.Errorf("a subject is in %q", note)
			}
		})
	}
}

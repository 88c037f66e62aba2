package config_test

import (
	"errors"
	"os"
	"testing"

	"example.com/weir/app-bootstrap/config"
)

// FuzzLoad: no file makes Load panic, and no file enables distributed limiting
// without a secret, an endpoint and a valid default policy, or levels without
// policies and subjects.
func FuzzLoad(f *testing.F) {
	complete, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(complete)
	for _, seed := range []string{
		enabled, "", "app:", "app: [1]", "? [a]\n: b", "a: &a [*a]", "{1: 2, ~: 3}", "<<: {app: {web: {}}}",
		"app: {web: {routes: [{pattern: GET /, cost: 1}, 5, ~, [~]]}}", "app: {rate-limit: {policies: {5: {limit: 1}}}}",
		layered(tenantUser, useIt), layered("tenant-user: {failure-mode: local-fallback, root: user, levels: [~, {name: user}, 5]}", useIt),
		layered("a: {levels: [{name: global, policy: edge, shared: true}]}", `layers: {set: a, identities: {global: "fixed:ip:::1"}}, fallback: {replicas: 3}`),
		overridden(`{policy: user, subject: "ip:192.0.2.1", limit: 1}, {policy: user, subject: "ip:192.0.2.1", limit: 99999999999999999999}, {}, ~, 5`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, yaml []byte) {
		cfg, _, err := load(string(yaml))
		if err != nil {
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("error %v is no Faults", err)
			}
			return
		}
		if !cfg.RateLimit.Enabled() {
			return
		}
		policy, defined := cfg.RateLimit.Policies.Policy(cfg.RateLimit.DefaultPolicy)
		if !defined || policy.IsZero() || cfg.RateLimit.Redis.Secret.IsZero() {
			t.Fatalf("enabled without what it needs: %+v", cfg.RateLimit)
		}
		if cfg.Web.Layers == nil {
			return
		}
		for _, level := range cfg.Web.Layers.Edge.Levels {
			if _, defined := cfg.RateLimit.Policies.Policy(level.Policy); !defined || level.Subject == nil {
				t.Fatalf("level without what it needs: %+v", level)
			}
		}
	})
}

package config_test

import (
	"os"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/edge"
)

// Ensure that the example file is a valid configuration that enables Redis.
func TestExampleSwitchesToRedis(t *testing.T) {
	yaml, err := os.ReadFile("../../examples/redis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, strings.ReplaceAll(string(yaml), "/run/secrets/weir-hmac", "hmac"))
	if !cfg.RateLimit.Enabled() || len(cfg.Web.Routes) != 2 {
		t.Errorf("got %+v", cfg)
	}
}

// Ensure that the example of levels uses its set, and grants its override.
func TestExampleOfLevels(t *testing.T) {
	yaml, err := os.ReadFile("../../examples/layered.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err := load(strings.ReplaceAll(string(yaml), "/run/secrets/weir-hmac", "hmac"))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if layers := cfg.Web.Layers; layers == nil || layers.Set != "tenant-user" || layers.Edge.FailureMode != edge.FailOpen {
		t.Errorf("got %+v", cfg.Web.Layers)
	}
	tenant := parse(t, "header:X-Tenant-Id:acme").Digest(cfg.RateLimit.Redis.Secret.SubjectKey())
	if policy, _ := cfg.RateLimit.Policies.PolicyFor("tenant", tenant); policy.Quota() != 1000 {
		t.Errorf("the tenant has %d", policy.Quota())
	}
}

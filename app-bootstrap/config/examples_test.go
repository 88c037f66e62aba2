package config_test

import (
	"os"
	"strings"
	"testing"
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

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/weir/app-bootstrap/config"
)

// Ensure that what the README tells to write switches to Redis.
func TestReadmeSwitchesToRedis(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no block of YAML")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(block, "/run/secrets/weir-hmac", secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, warnings, err := config.Load(config.Sources{File: file})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("the README's block: %v, %v", err, warnings)
	}
	if !loaded.RateLimit.Enabled() || loaded.RateLimit.DefaultPolicy != "edge-default" {
		t.Errorf("rate limiting is %+v", loaded.RateLimit)
	}
}

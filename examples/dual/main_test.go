package main

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

func TestMain(m *testing.M) {
	redislimit.RouteClientLog(slog.New(slog.DiscardHandler))
	redistest.Main(m)
}

// window is so long that no test sees it end.
const window = 3660 * 24 * time.Hour

// overRedis is what limiters under catalog, at the Redis at address, have in common:
// the program's own store, with time for a machine that is busy. Each call is
// another process.
func overRedis(t *testing.T, address string, catalog *ratelimit.Catalog) legacy.Config {
	t.Helper()
	store, err := newStore("redis://"+address, secretFile(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	store.CommandTimeout, store.DialTimeout, store.PoolTimeout = 5*time.Second, 5*time.Second, 5*time.Second
	store.Catalog = catalog
	port, err := redislimit.New(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := port.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return limitersOver(port, store)
}

// catalogOfTheProgram has its policies, but for the window.
func catalogOfTheProgram(t *testing.T) *ratelimit.Catalog {
	t.Helper()
	catalog, err := newCatalog(window)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// watch returns a function that tells whether the state at server is still what it
// was at the call before.
func watch(t *testing.T, server *redistest.Server) (unchanged func() bool) {
	t.Helper()
	client := server.Client(t)
	var before map[string]string
	return func() bool {
		t.Helper()
		now := make(map[string]string)
		keys, err := client.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			dump, err := client.Dump(t.Context(), key).Result()
			if err != nil {
				t.Fatal(err)
			}
			now[key] = dump + "@" + client.PExpireTime(t.Context(), key).Val().String()
		}
		same := maps.Equal(now, before)
		before = now
		return same
	}
}

func secretFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, bytes.Repeat([]byte("not a secret "), 3), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Ensure that the program starts while its store is down and stops when it is
// told to, and that it names the variable that lacks a value.
func TestRun(t *testing.T) {
	secret := secretFile(t)
	for _, test := range []struct {
		name, endpoint, secretFile string
		want                       string // empty for a clean stop
	}{
		{"complete", "redis://127.0.0.1:1/0", secret, ""},
		{"no secret", "redis://127.0.0.1:1/0", "", "HMAC_SECRET_FILE: "},
		{"no endpoint", "", secret, "REDIS: endpoint: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("REDIS", test.endpoint)
			t.Setenv("HMAC_SECRET_FILE", test.secretFile)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := run(ctx, "127.0.0.1:0", slog.New(slog.DiscardHandler))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

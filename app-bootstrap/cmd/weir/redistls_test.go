package main

import (
	"net/http"
	"strings"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// Ensure that a process limits over a store that speaks only TLS and knows its
// clients, as a user of its own, and that what makes the store unfit is in
// /readyz while requests are still decided.
func TestWeir_RedisByTLS(t *testing.T) {
	authority := redistest.NewAuthority(t)
	server := redistest.StartTLS(t, redistest.Lanes(t)[0], authority, []string{"redis.internal"}, "--tls-auth-clients", "yes")
	admin := server.Client(t)
	if err := admin.ACLSetUser(t.Context(), "weir", "reset", "on", ">hunter2", "~weir:1:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	client := authority.Issue(t)
	weir := start(t, append(withRedis(t, server.Addr),
		"--set", "app.rate-limit.redis.endpoint=rediss://"+server.Addr,
		"--set", "app.rate-limit.redis.username=weir",
		"--set", "app.rate-limit.redis.password-file="+writeFile(t, "password", "hunter2\n"),
		"--set", "app.rate-limit.redis.tls.ca-file="+writeFile(t, "ca.pem", string(authority.PEM())),
		"--set", "app.rate-limit.redis.tls.server-name=redis.internal",
		"--set", "app.rate-limit.redis.tls.cert-file="+writeFile(t, "client.crt", string(client.Certificate)),
		"--set", "app.rate-limit.redis.tls.key-file="+writeFile(t, "client.key", string(client.Key)))...)

	readiness := func(status int, detail string) func() bool {
		return func() bool {
			got := send(t, get(weir.management+"/readyz"))
			return got.status == status && strings.Contains(got.body, detail)
		}
	}
	eventually(t, "weir is ready", readiness(http.StatusOK, ""))
	passes := func() {
		t.Helper()
		if got := send(t, get(weir.public+"/")); got.status != http.StatusOK || !strings.Contains(got.header.Get("RateLimit"), `"edge"`) {
			t.Errorf("answered %d with %v", got.status, got.header)
		}
	}
	passes()
	if err := admin.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the eviction policy is reported",
		readiness(http.StatusServiceUnavailable, "maxmemory-policy is allkeys-lru, must be noeviction"))
	passes()
	weir.stop(t)
}

// Ensure that files of TLS that are of no use stop the start, by their keys.
func TestWeir_RedisTLSFaults(t *testing.T) {
	weir := launch(t, nil, append(append([]string{"serve"}, withRedis(t, "127.0.0.1:1")...),
		"--set", "app.rate-limit.redis.endpoint=rediss://127.0.0.1:1",
		"--set", "app.rate-limit.redis.tls.ca-file="+writeFile(t, "ca.pem", "hunter2"),
		"--set", "app.rate-limit.redis.tls.key-file="+writeFile(t, "client.key", "hunter2"))...)
	if code := weir.wait(t); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	said := weir.stderr.String()
	for _, key := range []string{"app.rate-limit.redis.tls.ca-file: ", "app.rate-limit.redis.tls.cert-file: "} {
		if !strings.Contains(said, key) {
			t.Errorf("%s is not named:\n%s", key, said)
		}
	}
	if strings.Contains(said, "hunter2") {
		t.Errorf("a file's content is shown:\n%s", said)
	}
}

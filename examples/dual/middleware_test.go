package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimittest"
)

// The trial of a tenant ends for a user with the user's limit, and for all with the
// tenant's. Who comes without a key is limited as before.
func Example() {
	catalog, err := newCatalog(time.Minute)
	if err != nil {
		panic(err)
	}
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	limit, err := newMiddleware(legacy.Config{
		Port:      ratelimittest.NewMemory(catalog, func() time.Time { return noon }),
		Catalog:   catalog,
		Pseudonym: secret.SubjectKey(),
	}, newAccounts(), slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	handler := limit.Wrap(newApplication())
	for _, user := range []string{"bob", "bob", "bob", "bob", "carol", "carol", "carol", ""} {
		w := ask(handler, "key-of-"+user, "192.0.2.1:4711")
		fmt.Printf("%-6s%d, remaining %s\n", user, w.Code, w.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// bob   200, remaining 2
	// bob   200, remaining 1
	// bob   200, remaining 0
	// bob   429, remaining 0
	// carol 200, remaining 1
	// carol 200, remaining 0
	// carol 429, remaining 0
	//       200, remaining 19
}

// ask sends a request with an API key from an address.
func ask(handler http.Handler, key, address string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/quotes", nil)
	r.RemoteAddr = address
	r.Header.Set("X-Api-Key", key)
	handler.ServeHTTP(w, r)
	return w
}

// newHandler is the application as it runs, over the Redis at address, with
// accounts and windows of the test. It counts what reached the application.
func newHandler(t *testing.T, address string, accounts map[string]account) (handler http.Handler, reached *int) {
	t.Helper()
	limit, err := newMiddleware(overRedis(t, address, catalogOfTheProgram(t)), accounts, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reached = new(int)
	application := newApplication()
	return limit.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reached++
		application.ServeHTTP(w, r)
	})), reached
}

// Ensure that two processes answer together as the limiter before did: with the
// lower of both numbers, 429 for a refusal, 503 for a limit that makes no sense, and
// by the address who is anonymous.
func TestRequests(t *testing.T) {
	accounts := map[string]account{
		"alice":  {"acme", "alice", 4, 2},
		"bob":    {"acme", "bob", 4, 5},
		"mallet": {"acme", "mallet", maxTenantLimit + 1, 5},
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		var processes [2]http.Handler
		var reached [2]*int
		for i := range processes {
			processes[i], reached[i] = newHandler(t, server.Addr, accounts)
		}
		sent := 0
		for i, step := range []struct {
			times        int
			key, address string
			want         string // of the last one: status, and what remains
		}{
			{1, "alice", "192.0.2.1:1", "200 1"},
			{1, "alice", "192.0.2.1:1", "200 0"},
			{2, "alice", "192.0.2.1:1", "429 0"},
			{1, "bob", "192.0.2.1:1", "200 1"}, // of the tenant, since the user has 4
			{1, "bob", "192.0.2.1:1", "200 0"},
			{2, "bob", "192.0.2.1:1", "429 0"},
			{1, "mallet", "192.0.2.1:1", "503 "},
			{anonymousLimit, "", "192.0.2.1:1", "200 0"},
			{1, "invented", "192.0.2.1:2", "429 0"},
			{1, "", "192.0.2.2:1", "200 19"},
			{1, "", "[2001:db8::1]:1", "200 19"},
			{1, "", "[2001:db8::2]:1", "200 18"},
		} {
			got, before := "", *reached[0]+*reached[1]
			for range step.times {
				w := ask(processes[sent%2], step.key, step.address)
				got = fmt.Sprint(w.Code, " ", w.Header().Get("X-RateLimit-Remaining"))
				sent++
			}
			if got != step.want {
				t.Errorf("step %d: got %s, want %s", i+1, got, step.want)
			}
			passed, want := *reached[0]+*reached[1]-before, 0
			if strings.HasPrefix(step.want, "200 ") {
				want = step.times
			}
			if passed != want {
				t.Errorf("step %d: %d reached the application, want %d", i+1, passed, want)
			}
		}
	})
}

// Ensure that while the store is down every request is answered 503 and none reaches
// the application, and that all is well again when the store is back.
func TestRequestsWhileTheStoreIsDown(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	handler, reached := newHandler(t, server.Addr, map[string]account{"alice": {"acme", "alice", maxTenantLimit, maxUserLimit}})
	keys := []string{"alice", ""}
	for _, key := range keys {
		if w := ask(handler, key, "192.0.2.1:1"); w.Code != http.StatusOK {
			t.Fatalf("before: answered %d %s", w.Code, w.Body)
		}
	}
	*reached = 0
	server.Stop(t)
	for range 3 {
		for _, key := range keys {
			w := ask(handler, key, "192.0.2.1:1")
			if remaining, said := w.Header()["X-Ratelimit-Remaining"]; w.Code != http.StatusServiceUnavailable || said {
				t.Errorf("down: answered %d %s, remaining %q", w.Code, w.Body, remaining)
			}
		}
	}
	if *reached != 0 {
		t.Errorf("%d requests reached the application", *reached)
	}
	server.Restart(t)
	deadline := time.Now().Add(10 * time.Second)
	for range time.Tick(10 * time.Millisecond) {
		w := ask(handler, "alice", "192.0.2.1:1")
		if w.Code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("afterwards: answered %d %s", w.Code, w.Body)
		}
	}
}

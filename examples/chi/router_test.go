package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

var noon = time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)

// Each route has its own policy, and what one spends the other keeps.
func Example() {
	catalog, err := newCatalog()
	if err != nil {
		panic(err)
	}
	port := ratelimittest.NewMemory(catalog, func() time.Time { return noon })
	router, err := newRouter(port, catalog, subjectKey())
	if err != nil {
		panic(err)
	}
	for _, request := range []string{
		"POST /quotes/7/calculate",
		"POST /quotes/7/calculate",
		"POST /quotes/8/calculate",
		"GET /quotes/7",
		"GET /health",
	} {
		w := ask(router, request)
		fmt.Println(request, w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// POST /quotes/7/calculate 200 "quote-calculate";r=10;t=5
	// POST /quotes/7/calculate 200 "quote-calculate";r=0;t=10
	// POST /quotes/8/calculate 429 "quote-calculate";r=0;t=5
	// GET /quotes/7 200 "edge-default";r=99;t=60
	// GET /health 200
}

// Ensure that no spelling of a path is cheaper than the one in the table,
// whatever chi makes of it.
func TestSpellingsOfACostlyRoute(t *testing.T) {
	for _, path := range []string{
		"/quotes/7/calculate", "/quotes/7/calculate/", "/quotes//7/calculate", "//quotes/7/calculate",
		"/quotes/7/%63alculate", "/quotes/7/./calculate", "/quotes/7%2fcalculate", "/quotes/x/../7/calculate",
	} {
		t.Run(path, func(t *testing.T) {
			catalog, err := newCatalog()
			if err != nil {
				t.Fatal(err)
			}
			port := &ratelimittest.Recorder{Next: ratelimittest.NewMemory(catalog, func() time.Time { return noon })}
			router, err := newRouter(port, catalog, subjectKey())
			if err != nil {
				t.Fatal(err)
			}
			ask(router, "POST "+path)
			requests := port.Requests()
			if len(requests) != 1 || requests[0].PolicyID() != calculatePolicy || requests[0].Cost() != 10 {
				t.Errorf("evaluated %v, want one request of %s at a cost of 10", requests, calculatePolicy)
			}
		})
	}
}

// Ensure that a handler is reached only by what was admitted.
func TestNothingUndecidedReachesAHandler(t *testing.T) {
	catalog, err := newCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for name, port := range map[string]ratelimit.EdgePort{
		"unavailable":   ratelimittest.AlwaysUnavailable(failure.Connection, time.Second),
		"indeterminate": ratelimittest.AlwaysIndeterminate(failure.NoReply, time.Second),
		"incompatible":  ratelimittest.AlwaysIncompatible(failure.State),
	} {
		t.Run(name, func(t *testing.T) {
			router, err := newRouter(port, catalog, subjectKey())
			if err != nil {
				t.Fatal(err)
			}
			w := ask(router, "GET /quotes/7")
			if w.Code != http.StatusServiceUnavailable || strings.HasPrefix(w.Body.String(), "quote") {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		})
	}
}

// Ensure that the program starts while its store is down and stops when it is
// told to, and that it names the variable that lacks a value.
func TestRun(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, bytes.Repeat([]byte("not a secret "), 3), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, endpoint, secretFile string
		want                       string // empty for a clean stop
	}{
		{"complete", "redis://127.0.0.1:1/0", secret, ""},
		{"no secret", "redis://127.0.0.1:1/0", "", "HMAC_SECRET_FILE: "},
		{"no endpoint", "", secret, "REDIS: endpoint: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("REDIS", test.endpoint)
			t.Setenv("HMAC_SECRET_FILE", test.secretFile)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := run(ctx, "127.0.0.1:0")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// ask sends a request, given as method and target, to handler.
func ask(handler http.Handler, request string) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(request, " ")
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://shop.example.org"+target, nil)
	handler.ServeHTTP(w, r)
	return w
}

func subjectKey() *pseudonym.Key {
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	return secret.SubjectKey()
}

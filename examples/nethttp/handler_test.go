package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Without a Redis, the process limits by itself, and each request counts one.
func Example() {
	limits, err := newLimits("", "", nil)
	if err != nil {
		panic(err)
	}
	handler, err := newHandler(limits.config)
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/quotes", "/health", "/quotes"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Print(w.Code, " ", w.Header().Get("RateLimit-Policy"), " ", w.Body)
	}
	// Output:
	// 200 "local";q=60;w=60 no quotes; 59 of 60 requests left
	// 200  healthy
	// 200 "local";q=60;w=60 no quotes; 58 of 60 requests left
}

// Ensure that the application answers as the port decides, and that a request
// which is not admitted does not reach it.
func TestOutcomes(t *testing.T) {
	catalog, err := newCatalog()
	if err != nil {
		t.Fatal(err)
	}
	policy, _ := catalog.Current().Policy("edge-default")
	tests := []struct {
		name   string
		port   ratelimit.EdgePort
		status int
	}{
		{"allowed", ratelimittest.AlwaysAllows(policy), http.StatusCreated},
		{"denied", ratelimittest.AlwaysDenies(policy, time.Second), http.StatusTooManyRequests},
		{"unavailable", ratelimittest.AlwaysUnavailable(failure.Connection, time.Second), http.StatusServiceUnavailable},
		{"indeterminate", ratelimittest.AlwaysIndeterminate(failure.NoReply, time.Second), http.StatusServiceUnavailable},
		{"incompatible", ratelimittest.AlwaysIncompatible(failure.State), http.StatusServiceUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			port := &ratelimittest.Recorder{Next: test.port}
			handler, err := newHandler(edge.Config{Port: port, Catalog: catalog, Pseudonym: subjectKey(t), DefaultPolicy: "edge-default"})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/quotes", nil))
			if w.Code != test.status {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			if requests := port.Requests(); len(requests) != 1 || requests[0].Cost() != 5 {
				t.Errorf("evaluated %v, want one request at a cost of 5", requests)
			}
		})
	}
}

// Ensure that a Redis that is named and does not answer closes the application
// to everything but its health, and that the start does not wait for it.
func TestSharedLimitsWithoutTheirStore(t *testing.T) {
	limits, err := newLimits("redis://127.0.0.1:1/0", secretFile(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newHandler(limits.config)
	if err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{"/quotes": http.StatusServiceUnavailable, "/health": http.StatusOK} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
	if err := limits.close(); err != nil {
		t.Error(err)
	}
}

// Ensure that shared limits are refused without a secret rather than kept under
// none.
func TestSharedLimitsNeedASecret(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", short} {
		if _, err := newLimits("redis://127.0.0.1:1/0", file, nil); err == nil {
			t.Errorf("a secret of file %q was accepted", file)
		}
	}
}

// Ensure that the program stops when it is told to.
func TestRunStops(t *testing.T) {
	t.Setenv("REDIS", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "127.0.0.1:0", slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
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

func subjectKey(t *testing.T) *pseudonym.Key {
	t.Helper()
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		t.Fatal(err)
	}
	return secret.SubjectKey()
}

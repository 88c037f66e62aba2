// Command outside uses the limiter as a stranger would: it knows only the
// versions of the modules. scripts/release-check builds and runs it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}

// run sends one request through edge and redislimit to a Redis that does not
// exist: port 1 refuses. The request must be refused too.
func run() error {
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		return err
	}
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            "edge-default",
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: 1, Window: time.Minute},
		MaxCost:       1,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		return err
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		return err
	}
	catalog := ratelimit.NewCatalog(snapshot)
	limiter, err := redislimit.New(redislimit.Config{
		Endpoint:       "redis://127.0.0.1:1/0",
		CommandTimeout: 50 * time.Millisecond,
		DialTimeout:    250 * time.Millisecond,
		PoolTimeout:    50 * time.Millisecond,
		Dispatch:       redislimit.Batched,
		Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
		PoolSize:       1,
		MaxInFlight:    1,
		Secret:         secret,
		Catalog:        catalog,
	})
	if err != nil {
		return err
	}
	limit, err := edge.New(edge.Config{
		Port:          limiter,
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: policy.ID(),
	})
	if err != nil {
		return err
	}
	w := httptest.NewRecorder()
	limit(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable || !bytes.Contains(w.Body.Bytes(), []byte(`"category":"connection"`)) {
		return fmt.Errorf("a request without a store was answered %d %s", w.Code, w.Body)
	}
	return limiter.Close(context.Background())
}

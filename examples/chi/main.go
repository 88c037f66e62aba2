// Command chi is a chi router behind Weir's middleware, with a policy of its own
// for the routes that need one. Policies are shared by all processes, so it needs
// a Redis, and a file with a secret of at least 32 random bytes:
//
//	REDIS=redis://127.0.0.1:6379/0 HMAC_SECRET_FILE=hmac-secret go run ./examples/chi
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

func main() {
	if err := run(context.Background(), "127.0.0.1:8080"); err != nil {
		fmt.Fprintln(os.Stderr, "chi:", err)
		os.Exit(1)
	}
}

// run serves at address until ctx is done or the process is told to stop. The
// limiter is closed by the one who made it, after the server that asks it.
func run(ctx context.Context, address string) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	material, err := os.ReadFile(os.Getenv("HMAC_SECRET_FILE"))
	if err != nil {
		return fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	secret, err := pseudonym.NewSecret(material)
	if err != nil {
		return fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	catalog, err := newCatalog()
	if err != nil {
		return err
	}
	limiter, err := newLimiter(os.Getenv("REDIS"), secret, catalog)
	if err != nil {
		return fmt.Errorf("REDIS: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, limiter.Close(closing))
	}()
	router, err := newRouter(limiter, catalog, secret.SubjectKey())
	if err != nil {
		return err
	}
	return serve(ctx, &http.Server{Addr: address, Handler: router, ReadHeaderTimeout: 5 * time.Second})
}

func newLimiter(endpoint string, secret pseudonym.Secret, catalog *ratelimit.Catalog) (*redislimit.Limiter, error) {
	return redislimit.New(redislimit.Config{
		Endpoint:       endpoint,
		CommandTimeout: 50 * time.Millisecond,
		DialTimeout:    250 * time.Millisecond,
		PoolTimeout:    50 * time.Millisecond,
		Dispatch:       redislimit.Batched,
		Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
		PoolSize:       32,
		MaxInFlight:    1024,
		Secret:         secret,
		Catalog:        catalog,
	})
}

func serve(ctx context.Context, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(draining)
}

// Command dual is an application that had a limiter before it had Weir. Its
// middleware calls the interfaces that it always called, and only what stands
// behind them is new. Limits are shared by all processes, so it needs a Redis, and
// a file with a secret of at least 32 random bytes:
//
//	REDIS=redis://127.0.0.1:6379/0 HMAC_SECRET_FILE=hmac-secret go run ./examples/dual
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
)

func main() {
	if err := run(context.Background(), "127.0.0.1:8080", slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "dual:", err)
		os.Exit(1)
	}
}

// run serves at address until ctx is done or the process is told to stop. The
// limiters hold nothing but the port, which is closed by the one who made it,
// after the server that asks it.
func run(ctx context.Context, address string, logger *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := newStore(os.Getenv("REDIS"), os.Getenv("HMAC_SECRET_FILE"), logger)
	if err != nil {
		return err
	}
	port, err := redislimit.New(store)
	if err != nil {
		return fmt.Errorf("REDIS: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, port.Close(closing))
	}()
	limit, err := newMiddleware(limitersOver(port, store), newAccounts(), logger)
	if err != nil {
		return err
	}
	handler := limit.Wrap(newApplication())
	return serve(ctx, &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second})
}

func newApplication() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quotes", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "no quotes") })
	return mux
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

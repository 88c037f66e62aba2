// Command nethttp is a net/http application behind Weir's middleware. With a
// Redis all processes share one limit; without one each process limits alone,
// so that the program runs on a developer's machine as it is:
//
//	go run ./examples/nethttp
//	REDIS=redis://127.0.0.1:6379/0 HMAC_SECRET_FILE=hmac-secret go run ./examples/nethttp
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
)

// drain is how long running requests may take to end.
const drain = 10 * time.Second

func main() {
	if err := run(context.Background(), "127.0.0.1:8080", slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "nethttp:", err)
		os.Exit(1)
	}
}

// run serves at address until ctx is done or the process is told to stop. It
// stops in the reverse order of the start: nobody may ask a limiter that is
// closed, so the server goes first.
func run(ctx context.Context, address string, logger *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	limits, err := newLimits(os.Getenv("REDIS"), os.Getenv("HMAC_SECRET_FILE"), logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, limits.close()) }()

	handler, err := newHandler(limits.config)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return server.Shutdown(draining)
}

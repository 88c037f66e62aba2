// Command weir runs the rate-limiting service. See weir --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx := stopOnSignal()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// stopOnSignal is done at the first SIGINT or SIGTERM. The second ends the
// process at once, for whoever does not want to wait for a drain.
func stopOnSignal() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		os.Exit(exitFailure)
	}()
	return ctx
}

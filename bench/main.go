// Command bench measures Weir against the limiters that a Go program would use
// otherwise, on a real Redis and within one run, and says whether Weir keeps
// what it claims. It is started by `make bench`.
//
// Its module stays out of the workspace, so that the peers never reach the
// product.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"example.com/weir/bench/web"
)

const usage = `bench measures Weir against its peers.

Usage:
  bench run -redis HOST:PORT [flags]   measure; a whole run replaces the results
  bench check                          judge the results; fails if a claim is not kept
  bench report                         bring the documents up to date with the results
  bench serve -redis HOST:PORT -path NAME
                                       one of the servers of the comparison over HTTP

Flags of run:
  -rounds N          an odd number (default 15); a whole run has at least 7
  -callers LIST      numbers of callers (default 1,16,128)
  -contenders REGEXP what is measured, by name (default all)
  -duration D        of one measurement (default 500ms)

It works in the directory bench, and writes to docs beside it.
`

// Exit codes.
const (
	exitDone    = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute is the program without its process. It returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command, err := parseCommand(args)
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n%s", err, usage)
		return exitUsage
	}
	switch command.name {
	case runCommand:
		command.plan.Logger = slog.New(slog.NewTextHandler(stderr, nil))
		err = run(ctx, command.plan, stdout)
	case checkCommand:
		err = check(stdout)
	case reportCommand:
		err = report()
	case serveCommand:
		err = web.Serve(ctx, command.path, command.plan.Address, stdin, stdout)
	default:
		fmt.Fprint(stdout, usage)
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitFailure
	}
	return exitDone
}

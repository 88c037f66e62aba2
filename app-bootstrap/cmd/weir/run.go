package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"example.com/weir/app-bootstrap/bootstrap"
	"example.com/weir/app-bootstrap/config"
)

// Exit codes.
const (
	exitStopped = 0 // stopped cleanly, or did what was asked
	exitFailure = 1
	exitUsage   = 2 // the command line or the configuration is wrong
)

// run is the program without its process: it returns the exit code, and stops
// in order when ctx is done.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	command, err := parseCommand(args, environ)
	if err != nil {
		fmt.Fprintf(stderr, "weir: %v\nTry weir --help.\n", err)
		return exitUsage
	}
	switch command.name {
	case helpCommand:
		fmt.Fprint(stdout, usage)
		return exitStopped
	case versionCommand:
		fmt.Fprintln(stdout, version())
		return exitStopped
	default:
		return serve(ctx, command, environ, stderr)
	}
}

func serve(ctx context.Context, command command, environ []string, stderr io.Writer) int {
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: command.logLevel}))
	cfg, warnings, err := config.Load(config.Sources{
		File:    command.configFile,
		Environ: environ,
		Set:     command.set,
	})
	if err != nil {
		fmt.Fprint(stderr, refusal(err))
		return exitUsage
	}
	for _, warning := range warnings {
		logger.Warn("configuration", "key", warning.Key, "note", warning.Note)
	}
	app, err := bootstrap.New(cfg, logger)
	if err == nil {
		err = app.Run(ctx)
	}
	if err != nil {
		fmt.Fprintf(stderr, "weir: %v\n", err)
		return exitFailure
	}
	return exitStopped
}

// refusal is the one message that lists all faults.
func refusal(err error) string {
	var faults config.Faults
	if !errors.As(err, &faults) {
		return fmt.Sprintf("weir: %v\n", err)
	}
	count := fmt.Sprintf("%d faults", len(faults))
	if len(faults) == 1 {
		count = "one fault"
	}
	return fmt.Sprintf("weir: the configuration has %s\n  %s\n", count, strings.ReplaceAll(faults.Error(), "\n", "\n  "))
}

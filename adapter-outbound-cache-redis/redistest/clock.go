package redistest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// clockSource is a library that replaces the wall clock of the program which it
// is preloaded into.
//
//go:embed preload/clock.c
var clockSource []byte

// Clock is the wall clock of one server. It stands still where [Clock.Set] puts
// it, so that a test knows the moment of each command.
type Clock struct {
	file *os.File
}

// StartWithClock starts the redis-server on PATH for this test alone, as [Start]
// does, with a clock of its own that shows now. It needs a C compiler, and the
// test therefore the build tag system.
func StartWithClock(tb testing.TB, now time.Time, arguments ...string) (*Server, *Clock) {
	tb.Helper()
	path, err := exec.LookPath(processLane)
	if err != nil {
		tb.Fatal(err)
	}
	directory := tb.TempDir()
	library := compileClock(tb, directory)

	file, err := os.Create(filepath.Join(directory, "clock"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	clock := &Clock{file: file}
	clock.Set(tb, now)

	// A server is a program that takes redis-server's arguments.
	program := filepath.Join(directory, "redis-server-with-clock")
	script := fmt.Sprintf("#!/bin/sh\nexec env WEIR_CLOCK='%s' LD_PRELOAD='%s' '%s' \"$@\"\n", file.Name(), library, path)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		tb.Fatal(err)
	}
	return Start(tb, Lane{name: processLane, path: program}, arguments...), clock
}

func compileClock(tb testing.TB, directory string) (library string) {
	tb.Helper()
	source, library := filepath.Join(directory, "clock.c"), filepath.Join(directory, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		tb.Fatal(err)
	}
	compiler := exec.CommandContext(tb.Context(), "cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source)
	if output, err := compiler.CombinedOutput(); err != nil {
		tb.Fatalf("compile the clock: %v\n%s", err, output)
	}
	return library
}

// Set moves the clock, forwards or backwards, from the next command on.
func (c *Clock) Set(tb testing.TB, now time.Time) {
	tb.Helper()
	micros := binary.NativeEndian.AppendUint64(nil, uint64(now.UnixMicro()))
	if _, err := c.file.WriteAt(micros, 0); err != nil {
		tb.Fatal(err)
	}
}

package redistest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Ensure that the error of a server that does not answer tells what it said.
func TestServerThatDoesNotAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redis-server")
	script := "#!/bin/sh\necho 'Bad directive or wrong number of arguments'\nexit 1\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := newServer(ctx, Lane{name: "broken", path: path}, nil)
	if err == nil || !strings.Contains(err.Error(), "Bad directive") || !strings.Contains(err.Error(), "lane broken") {
		t.Errorf("error %v, want the lane and what the server said", err)
	}
}

// Ensure that the shared servers need somebody who ends them.
func TestAClosedPoolLendsNothing(t *testing.T) {
	var closed pool
	if _, _, err := closed.take(t.Context(), Lane{name: "any"}); !errors.Is(err, errNoMain) {
		t.Errorf("error %v, want %v", err, errNoMain)
	}
}

// Ensure that ports lie outside the ranges of local ports.
func TestFreePort(t *testing.T) {
	port, err := freePort(t.Context())
	if err != nil || port < firstPort || port >= pastPorts {
		t.Errorf("port %d, error %v", port, err)
	}
}

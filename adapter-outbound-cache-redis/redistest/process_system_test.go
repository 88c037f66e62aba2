//go:build system

package redistest

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Ensure that a server that is a program of this machine can all that one in a
// container can: it is paused and resumed, killed and started again at the same
// address, and leaves nothing behind.
func TestSystemProcess(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	var directory string
	t.Run("server", func(t *testing.T) {
		server := Start(t, Lane{name: "redis-server", path: path}, "--maxmemory", "50mb")
		directory = server.machine.(*process).directory
		client := server.Client(t)
		if value := client.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; value != "52428800" {
			t.Errorf("maxmemory is %s, want 52428800", value)
		}

		server.Pause(t)
		if err := server.ping(t.Context()); err == nil {
			t.Error("a paused server answered")
		}
		server.Resume(t)

		server.Stop(t)
		if err := server.ping(t.Context()); err == nil {
			t.Error("a stopped server answered")
		}
		server.Restart(t)
		server.Pause(t) // and is left so
	})
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the server left its directory behind: %v", err)
	}
}

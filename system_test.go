//go:build system

package weir

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Ensure that the scripts are free of what shellcheck knows.
func TestSystemShellcheck(t *testing.T) {
	scripts, err := filepath.Glob("scripts/*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found scripts %v, error %v", scripts, err)
	}
	output, err := exec.Command("shellcheck", append(scripts, ".ci/run")...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// Ensure that tests fall back to the redis-server of this machine where no
// Docker answers, and that it is said that only one lane runs.
func TestSystemTestServersWithoutDocker(t *testing.T) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	lanes, talk, err := testServers(t, "DOCKER_HOST=tcp://127.0.0.1:1")
	if want := "WEIR_TEST_LANES=redis-server=" + server + "\n"; err != nil || lanes != want {
		t.Errorf("printed %q, want %q; error %v", lanes, want, err)
	}
	if !strings.Contains(talk, "only one lane runs") {
		t.Errorf("said %q", talk)
	}
}

// Ensure that a machine which can run no server is told what to do, in one
// sentence, and that tests do not run there.
func TestSystemTestServersWithNothing(t *testing.T) {
	// Somebody who is not root can install nothing.
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "id"), []byte("#!/bin/sh\necho 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bash", "dirname"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	lanes, talk, err := testServers(t, "PATH="+path)
	if err == nil || lanes != "" {
		t.Errorf("printed %q, error %v, want a failure", lanes, err)
	}
	if want := "test-servers: no Redis to test against: start Docker, or install redis-server\n"; talk != want {
		t.Errorf("said %q, want %q", talk, want)
	}
}

// Ensure that what the caller has decided stays decided.
func TestSystemTestServersAsDecided(t *testing.T) {
	lanes, _, err := testServers(t, "WEIR_TEST_LANES=mine=example/image:1")
	if want := "WEIR_TEST_LANES=mine=example/image:1\n"; err != nil || lanes != want {
		t.Errorf("printed %q, want %q; error %v", lanes, want, err)
	}
}

// testServers runs the script with more in the environment. What decides there
// otherwise, the caller's continuous integration included, is taken out of it.
func testServers(t *testing.T, environment ...string) (lanes, talk string, err error) {
	t.Helper()
	command := exec.Command("scripts/test-servers")
	deciding := []string{"WEIR_TEST_LANES", "CI", "DOCKER_HOST"}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(deciding, name) {
			command.Env = append(command.Env, entry)
		}
	}
	command.Env = append(command.Env, environment...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	return stdout.String(), stderr.String(), err
}

//go:build system

package weir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stubs are programs that come first on PATH: a Docker that does what the
// environment says, and a machine on which nothing gets installed or built.
var stubs = map[string]string{
	"docker": `case "$1 ${2:-}" in
"info ") [ -z "$STUB_INFO" ] || { echo "$STUB_INFO" >&2; exit 1; } ;;
"image inspect") case " $STUB_IMAGES " in *" $3 "*) ;; *) exit 1 ;; esac ;;
"pull --quiet")
  [ "$STUB_PULL" != hangs ] || exec sleep 60
  [ -z "$STUB_PULL" ] || { echo "$STUB_PULL" >&2; exit 1; } ;;
*) exit 1 ;;
esac`,
	"id":           `echo "$STUB_USER"`,
	"mmdebstrap":   `exit 1`,
	"redis-server": `echo "Redis server v=7.0.0 sha=0"`,
}

const (
	nobodyThere  = "Error response from daemon: dial tcp: lookup registry.invalid: no such host"
	builtImages  = "local/redis:7.0 local/redis:8.0 local/valkey:8.1"
	builtLanes   = "redis-7.0=local/redis:7.0,redis-8.0=local/redis:8.0,valkey-8.1=local/valkey:8.1"
	pulledImages = "redis:7.0-alpine redis:7.4-alpine redis:8.0-alpine valkey/valkey:8.1-alpine"
	pulledLanes  = "redis-7.0=redis:7.0-alpine,redis-7.4=redis:7.4-alpine,redis-8.0=redis:8.0-alpine,valkey-8.1=valkey/valkey:8.1-alpine"
)

// Ensure that continuous integration runs on every kind of server that can be
// got, or fails and says so, and that elsewhere tests run on what there is.
func TestSystemTestServersWithDocker(t *testing.T) {
	const (
		root       = "STUB_USER=0"
		ci         = "CI=true"
		incomplete = "continuous integration must test every kind of server, and not all could be got"
		onlyOne    = "without Docker only one lane runs: redis-server (Redis server v=7.0.0)"
	)
	tests := []struct {
		name        string
		environment []string
		lanes       string // empty: it fails; $ is the directory of the stubs
		last        string // what the last line says, or the last but the rule
	}{
		{"every image is there", []string{ci, "STUB_IMAGES=" + pulledImages}, pulledLanes, "tests run on"},
		{"what no suite has, without a registry", []string{ci, "STUB_IMAGES=" + builtImages, "STUB_PULL=" + nobodyThere}, builtLanes, "tests run on"},
		{"what no suite has, refused by a registry", []string{ci, "STUB_IMAGES=" + builtImages, "STUB_PULL=toomanyrequests"}, "", incomplete},
		{"what no suite has, from a registry that is too slow", []string{ci, "STUB_IMAGES=" + builtImages, "STUB_PULL=hangs", "PULL_SECONDS=1"}, "", incomplete},
		{"an image that nobody can build", []string{ci, "STUB_IMAGES=local/redis:7.0", "STUB_PULL=" + nobodyThere}, "", incomplete + " (redis-8.0 valkey-8.1)"},
		{"an image whose build fails", []string{ci, root, "STUB_IMAGES=local/redis:7.0", "STUB_PULL=" + nobodyThere}, "", incomplete + " (redis-8.0 valkey-8.1)"},
		{"a pull that gives nothing", []string{ci, "STUB_IMAGES=local/redis:7.0 local/redis:8.0"}, "", incomplete + " (valkey-8.1)"},
		{"no image at all", []string{ci, "STUB_PULL=" + nobodyThere}, "", incomplete + " (redis-7.0 redis-8.0 valkey-8.1)"},
		{"no daemon", []string{ci, "STUB_INFO=Cannot connect to the Docker daemon at unix:///var/run/docker.sock."}, "redis-server=$/redis-server", onlyOne},
		{"no daemon where one was named", []string{ci, "DOCKER_HOST=tcp://127.0.0.1:1", "STUB_INFO=Cannot connect to the Docker daemon at tcp://127.0.0.1:1."}, "", "Docker is installed but does not work: Cannot connect"},
		{"a daemon that refuses", []string{ci, "STUB_INFO=permission denied"}, "", "Docker is installed but does not work: permission denied"},

		{"elsewhere, an image that nobody can build", []string{"STUB_IMAGES=local/redis:7.0", "STUB_PULL=" + nobodyThere}, "redis-7.0=local/redis:7.0", "tests run on"},
		{"elsewhere, an image whose build fails", []string{root, "STUB_IMAGES=local/redis:7.0", "STUB_PULL=" + nobodyThere}, "redis-7.0=local/redis:7.0", "tests run on"},
		{"elsewhere, no image at all", []string{"STUB_PULL=" + nobodyThere}, "redis-server=$/redis-server", onlyOne},
		{"elsewhere, a daemon that refuses", []string{"STUB_INFO=permission denied"}, "redis-server=$/redis-server", onlyOne},
	}
	directory := t.TempDir()
	for name, script := range stubs {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			temporary := t.TempDir()
			environment := append([]string{
				"PATH=" + directory + ":" + os.Getenv("PATH"), "TMPDIR=" + temporary,
				"STUB_USER=1000", "STUB_INFO=", "STUB_IMAGES=", "STUB_PULL=",
			}, test.environment...)
			lanes, talk, err := testServers(t, environment...)

			want := ""
			if test.lanes != "" {
				want = "WEIR_TEST_LANES=" + strings.ReplaceAll(test.lanes, "$", directory) + "\n"
			}
			if lanes != want || (err == nil) != (want != "") {
				t.Errorf("printed %q, want %q; error %v", lanes, want, err)
			}
			lines := strings.Split(strings.TrimRight(talk, "*\n"), "\n")
			said := lines[len(lines)-1]
			if said == "test-servers: " {
				said = lines[len(lines)-2]
			}
			if !strings.HasPrefix(said, "test-servers: "+test.last) {
				t.Errorf("said at last %q, want %q, of\n%s", said, test.last, talk)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind %v, error %v", left, err)
			}
		})
	}
}

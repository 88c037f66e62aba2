//go:build system

package weir

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Ensure that the modules work for those who know only their tags: an outside
// program that uses edge and redislimit, and an installation of the service.
func TestSystemReleaseCheck(t *testing.T) {
	temporary := t.TempDir()
	output, err := makeTarget(t, "TMPDIR="+temporary, "release-check", "VERSION=v0.1.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if want := "is fit to be released as v0.1.0\n"; !strings.HasSuffix(output, want) {
		t.Errorf("said %q, want %q at the end", output, want)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, error %v", left, err)
	}
}

// Ensure that a version which no tag of these modules can have is refused.
func TestSystemReleaseCheckRefusesVersions(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v0.1", "v2.0.0", "latest"} {
		output, err := makeTarget(t, "", "release-check", "VERSION="+version)
		if want := "VERSION is '" + version + "', must be v0 or v1 and semantic"; err == nil || !strings.Contains(output, want) {
			t.Errorf("version %q: error %v, said %q, want %q", version, err, output, want)
		}
	}
}

// makeTarget runs make with arguments, with one more variable in the environment.
// What a make around this test has put there is for itself.
func makeTarget(t *testing.T, variable string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory"}, arguments...)...)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name) {
			command.Env = append(command.Env, entry)
		}
	}
	if variable != "" {
		command.Env = append(command.Env, variable)
	}
	output, err := command.CombinedOutput()
	return string(output), err
}

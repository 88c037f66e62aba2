//go:build system

package weir

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ensure that an adopted copy bears its own name everywhere, and passes its own
// tests on one kind of server.
func TestSystemAdopt(t *testing.T) {
	copied := adopt(t, "github.com/acme/gate", "gate")
	expectNoTrace(t, copied)
	expectSame(t, copied, "LICENSE", "lua/rate-fixed-window-v1.lua", "lua/rate-sliding-counter-v1.lua", "lua/rate-token-bucket-v1.lua")

	if said := inCopy(t, copied, "gofmt", "-l", "."); said != "" {
		t.Errorf("not formatted: %s", said)
	}
	inCopy(t, copied, "go", "vet", "work")
	if said := inCopy(t, copied, "go", "run", "./app-bootstrap/cmd/gate", "version"); !strings.HasPrefix(said, "gate ") {
		t.Errorf("gate version says %q", said)
	}
	inCopy(t, copied, "env", "GATE_TEST_LANES="+firstLane(t), "go", "test", "-count=1", "-timeout", "5m", "work")
}

// Ensure that a name of another length and a path of another place in the
// alphabet leave nothing out of form or order.
func TestSystemAdoptUnderALongName(t *testing.T) {
	copied := adopt(t, "code.example.org/traffic/team/tollbooth9", "tollbooth9")
	expectNoTrace(t, copied)
	if said := inCopy(t, copied, "gofmt", "-l", "."); said != "" {
		t.Errorf("not formatted: %s", said)
	}
	inCopy(t, copied, "go", "test", "-count=1", ".", "./lua/...", "./shared-contract/...", "./adapter-inbound-web/answer")
	for _, module := range []string{"adapter-outbound-cache-redis", "app-bootstrap", "examples"} {
		inCopy(t, filepath.Join(copied, module), "env", "GOWORK=off", "go", "mod", "tidy", "-diff")
	}
}

// Ensure that what cannot be adopted is refused with a reason, that all reasons
// are given at once, and that nothing is written then.
func TestSystemAdoptRefuses(t *testing.T) {
	parent := t.TempDir()
	taken := filepath.Join(parent, "taken")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(parent, "fresh")
	tests := []struct {
		name, module, as, directory string
		want                        []string
	}{
		{"nothing given", "", "", fresh, []string{"MODULE must be given", "NAME must be given"}},
		{"no path of a module", "acme gate", "gate", fresh, []string{"MODULE cannot be the path of a module"}},
		{"a path without a host", "acme/gate", "gate", fresh, []string{"MODULE cannot be the path of a module"}},
		{"a major version", "github.com/acme/gate/v2", "gate", fresh, []string{"ends in a major version"}},
		{"a hyphen", "github.com/acme/my-gate", "my-gate", fresh, []string{`NAME is "my-gate", must match`}},
		{"upper case", "github.com/acme/Gate", "Gate", fresh, []string{`NAME is "Gate", must match`}},
		{"a keyword", "github.com/acme/range", "range", fresh, []string{"NAME range means something to Go"}},
		{"a package of the tree", "github.com/acme/edge", "edge", fresh, []string{"NAME edge is the name of package adapter-inbound-web/edge"}},
		{"two faults", "acme/gate", "my-gate", fresh, []string{"MODULE cannot be", "NAME is"}},
		{"a directory that exists", "github.com/acme/gate", "gate", taken, []string{"taken exists and is not overwritten"}},
		{"a directory without a parent", "github.com/acme/gate", "gate", filepath.Join(parent, "no", "where"), []string{"there is no directory " + parent + "/no"}},
		{"a directory of this tree", "github.com/acme/gate", "gate", "docs/gate", []string{"docs/gate lies within this tree"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			said, err := makeTarget(t, "", "adopt", "MODULE="+test.module, "NAME="+test.as, "DIR="+test.directory)
			if err == nil {
				t.Errorf("was not refused: %s", said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want %q", said, want)
				}
			}
			if test.directory != taken {
				if _, err := os.Stat(test.directory); err == nil {
					t.Errorf("%s was written", test.directory)
				}
			}
		})
	}
	if left, err := os.ReadDir(taken); err != nil || len(left) > 0 {
		t.Errorf("the directory that existed now holds %v, error %v", left, err)
	}
}

// adopt makes a copy and gives its directory.
func adopt(t *testing.T, module, name string) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "copy")
	if said, err := makeTarget(t, "", "adopt", "MODULE="+module, "NAME="+name, "DIR="+directory); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return directory
}

// inCopy runs a program in a directory of a copy, which must succeed within ten
// minutes, and gives what it printed.
func inCopy(t *testing.T, directory, program string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = directory
	// What go test tells this test about its own tree is wrong there.
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains([]string{"PWD", "GOWORK", "WEIR_TEST_LANES"}, name) {
			command.Env = append(command.Env, entry)
		}
	}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// firstLane is the first server that tests of this tree run on.
func firstLane(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "scripts/test-servers").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, lanes, _ := strings.Cut(strings.TrimSpace(string(output)), "=")
	first, _, _ := strings.Cut(lanes, ",")
	return first
}

var (
	trace = regexp.MustCompile(`(?i)weir|example\.com/`)

	// allowed are the traces that stay: labels from which keys are derived, and
	// the host that documents and tests call their own.
	allowed = regexp.MustCompile(`weir/1/|https?://([a-z]+\.)?example\.com/`)

	// untouched hold what is not ours to rename.
	untouched = regexp.MustCompile(`(^|/)(LICENSE|go\.sum|go\.work\.sum)$`)
)

// expectNoTrace looks for the name before in all names and texts of a copy.
func expectNoTrace(t *testing.T, copied string) {
	t.Helper()
	files := 0
	tree := os.DirFS(copied)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if trace.MatchString(path.Base(name)) {
			t.Errorf("%s is still called so", name)
		}
		if entry.IsDir() || untouched.MatchString(name) {
			return nil
		}
		files++
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for number, line := range bytes.Split(text, []byte("\n")) {
			if trace.Match(allowed.ReplaceAll(line, nil)) {
				t.Errorf("%s:%d still says: %s", name, number+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were copied", files)
	}
}

// expectSame compares files of a copy with those of this tree.
func expectSame(t *testing.T, copied string, names ...string) {
	t.Helper()
	for _, name := range names {
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(copied, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%s has changed", name)
		}
	}
}

package lua_test

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/weir/lua"
)

type manifest struct {
	Reply    []struct{ Name string }
	Programs []struct {
		Name, File, SHA1 string
		Arguments        []struct{ Name, Unit string }
		State            []struct{ Field string }
		Commands         []string
	}
}

func read(t *testing.T) manifest {
	t.Helper()
	var m manifest
	if err := json.Unmarshal(lua.Manifest(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Ensure that the manifest describes exactly the programs that are handed out,
// by the digest that a server calls them by.
func TestManifestDescribesThePrograms(t *testing.T) {
	described := read(t).Programs
	programs := lua.Programs()
	if len(described) != len(programs) {
		t.Fatalf("%d programs are described, %d handed out", len(described), len(programs))
	}
	for i, program := range programs {
		if d := described[i]; d.Name != program.Name || d.File != program.Name+".lua" || d.SHA1 != program.SHA1 {
			t.Errorf("%s (%s) is described as %s (%s)", program.Name, program.SHA1, d.Name, d.SHA1)
		}
		if _, err := fs.Stat(lua.Vectors(), program.Name+".json"); err != nil {
			t.Errorf("%s has no vectors: %v", program.Name, err)
		}
	}
}

// Ensure that the manifest's commands, arguments, state and reply are those of
// the text, so that an access rule or an adapter written from it is right.
func TestManifestMatchesTheText(t *testing.T) {
	called := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	arity := regexp.MustCompile(`#ARGV ~= (\d)`)
	for i, program := range lua.Programs() {
		described := read(t).Programs[i]
		commands := make(map[string]bool)
		for _, match := range called.FindAllStringSubmatch(program.Source, -1) {
			commands[match[1]] = true
			if !slices.Contains(described.Commands, match[1]) {
				t.Errorf("%s calls %s, which is not described", program.Name, match[1])
			}
		}
		if len(commands) != len(described.Commands) {
			t.Errorf("%s calls %d commands, %d are described", program.Name, len(commands), len(described.Commands))
		}
		if n := strings.Count(program.Source, "'TIME'"); n != 1 {
			t.Errorf("%s calls TIME %d times", program.Name, n)
		}
		if match := arity.FindStringSubmatch(program.Source); len(match) != 2 || int(match[1][0]-'0') != len(described.Arguments) {
			t.Errorf("%s checks for %v arguments, %d are described", program.Name, match, len(described.Arguments))
		}
		for _, state := range described.State {
			if !strings.Contains(program.Source, "'"+state.Field+"'") {
				t.Errorf("%s does not store %s", program.Name, state.Field)
			}
		}
	}
	if fields := read(t).Reply; len(fields) != 7 {
		t.Errorf("the reply has %d fields, must have 7", len(fields))
	}
}

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
		Argument         line
		State            struct {
			line
			Field string
		}
		Commands []string
	}
}

// line is a line of words as its form says, and the numbers that the form names
// or, of the state, that follow the identity.
type line struct {
	Form    string
	Numbers []struct{ Name, Unit string }
}

// names are the local variables that take the numbers.
func (l line) names() string {
	var names []string
	for _, number := range l.Numbers {
		names = append(names, snakeCase(number.Name))
	}
	return strings.Join(names, ", ")
}

// snakeCase is text with the names of Lua.
func snakeCase(text string) string { return strings.ReplaceAll(text, "maxCost", "max_cost") }

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

// Ensure that the manifest's commands, argument, state and reply are those of the
// text, so that an access rule or an adapter written from it is right.
func TestManifestMatchesTheText(t *testing.T) {
	called := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	stored := regexp.MustCompile(`'H[A-Z]+', key, '(\w+)'`)
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
		for _, match := range stored.FindAllStringSubmatch(program.Source, -1) {
			if match[1] != described.State.Field {
				t.Errorf("%s uses the field %s, described is %s", program.Name, match[1], described.State.Field)
			}
		}
		argument, state := described.Argument, described.State.line
		for _, text := range []string{
			"--   " + snakeCase(argument.Form) + "\n",
			"--   " + snakeCase(state.Form) + "\n",
			"local id, " + argument.names() + " =\n  line:match(",
			"known, " + state.names() + " = state:match(",
		} {
			if !strings.Contains(program.Source, text) {
				t.Errorf("%s has no %q, which follows from its description", program.Name, text)
			}
		}
		for _, line := range []line{argument, state} {
			for _, number := range line.Numbers {
				if number.Unit == "" || !strings.Contains(line.Form, "<"+number.Name+">") {
					t.Errorf("%s: %s has no unit, or no place in %s", program.Name, number.Name, line.Form)
				}
			}
		}
	}
	if fields := read(t).Reply; len(fields) != 7 {
		t.Errorf("the reply has %d fields, must have 7", len(fields))
	}
}

package lua_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/weir/lua"
)

type manifest struct {
	Reply    []struct{ Name string }
	Programs []description
}

// description is what the manifest says of a program.
type description struct {
	Name, File, SHA1 string
	Argument         line
	State            struct {
		line
		Field  string
		Header struct{ Form string }
	}
	Levels   struct{ Least, Most int }
	Commands []string
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
	described := read(t)
	for i, program := range lua.Programs() {
		matchCommands(t, program, described.Programs[i])
		for _, text := range described.Programs[i].texts() {
			if !strings.Contains(program.Source, text) {
				t.Errorf("%s has no %q, which follows from its description", program.Name, text)
			}
		}
		for _, line := range []line{described.Programs[i].Argument, described.Programs[i].State.line} {
			for _, number := range line.Numbers {
				if number.Unit == "" || !strings.Contains(line.Form, "<"+number.Name+">") {
					t.Errorf("%s: %s has no unit, or no place in %s", program.Name, number.Name, line.Form)
				}
			}
		}
	}
	if fields := described.Reply; len(fields) != 7 {
		t.Errorf("the reply has %d fields, must have 7", len(fields))
	}
}

func matchCommands(t *testing.T, program lua.Program, described description) {
	t.Helper()
	called := regexp.MustCompile(`redis\.p?call\(\s*'([A-Z]+)'`)
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
	if described.State.Field == "" {
		return
	}
	stored := regexp.MustCompile(`'H[A-Z]+', key, '(\w+)'`)
	for _, match := range stored.FindAllStringSubmatch(program.Source, -1) {
		if match[1] != described.State.Field {
			t.Errorf("%s uses the field %s, described is %s", program.Name, match[1], described.State.Field)
		}
	}
}

// texts are in the program if it is as described.
func (d description) texts() []string {
	if d.Levels.Most > 0 {
		return []string{fmt.Sprintf("levels >= %d and levels <= %d and levels == #lines", d.Levels.Least, d.Levels.Most)}
	}
	texts := []string{
		"--   " + snakeCase(d.Argument.Form) + "\n",
		"local id, " + d.Argument.names() + " =\n  line:match(",
	}
	if d.State.Field != "" {
		return append(texts, "--   "+snakeCase(d.State.Form)+"\n", "  "+d.State.names()+" = state:match(")
	}
	return append(texts, "--   "+d.State.Header.Form+"  whose", "--   "+d.State.Form+"  ", "local "+d.State.names()+" = (found[1] or ''):match(")
}

// Ensure that no arithmetic of an algorithm stands in two sources, since one of
// them would be forgotten when the other is mended.
func TestEachAlgorithmIsWrittenOnce(t *testing.T) {
	if twice := writtenTwice(t, os.DirFS("source")); len(twice) > 0 {
		t.Errorf("written twice: %q", twice)
	}
	again := func(text string) fs.FS {
		part := "local limit = 0 + 1\n-- Decision\nlocal left = limit - spent -- what is left\n"
		return fstest.MapFS{
			"part/one-check.lua": {Data: []byte(part)},
			"part/two-check.lua": {Data: []byte("local limit = 0 + 1\n-- Decision\n")},
			"several.lua":        {Data: []byte(text)},
		}
	}
	if twice := writtenTwice(t, again("-- local left = limit - spent\n")); len(twice) > 0 {
		t.Errorf("%q are said to be written twice", twice)
	}
	if twice := writtenTwice(t, again("if one then\n  local left = limit - spent\nend\n")); len(twice) != 1 {
		t.Errorf("%q are said to be written twice, must be what is left", twice)
	}
}

// writtenTwice are the lines of the sources' parts that decide or charge, by
// arithmetic, and stand in another source too.
func writtenTwice(t *testing.T, sources fs.FS) []string {
	t.Helper()
	arithmetic := regexp.MustCompile(`\S [-+*/%] \S|floor|ceil`)
	decides := make(map[string]bool)
	written := make(map[string]int)
	for _, pattern := range []string{"*.lua", "part/*.lua"} {
		names, err := fs.Glob(sources, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(sources, name)
			if err != nil {
				t.Fatal(err)
			}
			part := strings.HasPrefix(name, "part/")
			reads, deciding, divided := strings.Cut(string(text), "-- Decision\n")
			if !divided {
				reads, deciding = "", reads
			}
			for _, line := range strings.Split(reads+deciding, "\n") {
				code, _, _ := strings.Cut(strings.TrimSpace(line), "--")
				if code = strings.TrimSpace(code); !arithmetic.MatchString(code) {
					continue
				}
				written[code]++
				decides[code] = decides[code] || part && strings.Contains(deciding, code)
			}
		}
	}
	var twice []string
	for code := range decides {
		if decides[code] && written[code] > 1 {
			twice = append(twice, code)
		}
	}
	slices.Sort(twice)
	return twice
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ensure that the programs, as they are handed out, are what their sources give.
func TestProgramsAreComposed(t *testing.T) {
	composed := t.TempDir()
	if err := compose("../source", composed); err != nil {
		t.Fatal(err)
	}
	want, got := files(t, composed), files(t, "..")
	for name := range got {
		if _, composed := want[name]; !composed {
			t.Errorf("%s has no source", name)
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is not what its source gives: run `make generate`", name)
		}
	}
}

// Ensure that parts take the place of the lines that name them.
func TestCompose(t *testing.T) {
	for name, row := range map[string]struct {
		sources map[string]string
		want    string
	}{
		"nothing is included": {
			map[string]string{"p.lua": "one\n\n  two -- include part\n"},
			"one\n\n  two -- include part\n",
		},
		"a part twice": {
			map[string]string{"p.lua": "-- include a\none\n-- include a\n", "part/a.lua": "two\nthree\n"},
			"two\nthree\none\ntwo\nthree\n",
		},
		"indented, but for empty lines": {
			map[string]string{"p.lua": "if one then\n  -- include a\nend\n", "part/a.lua": "two\n\n  three\n"},
			"if one then\n  two\n\n    three\nend\n",
		},
		"a part of a part, indented twice": {
			map[string]string{"p.lua": "  -- include a\n", "part/a.lua": "one\n  -- include b\ntwo\n", "part/b.lua": "three\n"},
			"  one\n    three\n  two\n",
		},
		"no newline at the end": {
			map[string]string{"p.lua": "-- include a\none", "part/a.lua": "two"},
			"two\none\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			composed := t.TempDir()
			if err := compose(directory(t, row.sources), composed); err != nil {
				t.Fatal(err)
			}
			if got := files(t, composed); len(got) != 1 || got["p.lua"] != row.want {
				t.Errorf("composed %q, must be p.lua with %q", got, row.want)
			}
		})
	}
}

// Ensure that the error of a part that is missing says which one, and who wants it.
func TestComposeNamesWhatIsMissing(t *testing.T) {
	sources := directory(t, map[string]string{"p.lua": "-- include a\n", "part/a.lua": "-- include b\n"})
	composed := t.TempDir()
	err := compose(sources, composed)
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"p.lua", filepath.Join("part", "a.lua"), filepath.Join("part", "b.lua")} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error is %q, must name %s", err, name)
		}
	}
	if got := files(t, composed); len(got) > 0 {
		t.Errorf("composed %q", got)
	}
}

// directory holds files of these texts by their names, and a directory of parts.
func directory(t *testing.T, texts map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "part"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// files are the texts of the programs in a directory, by their names.
func files(t *testing.T, directory string) map[string]string {
	t.Helper()
	programs, err := filepath.Glob(filepath.Join(directory, "*.lua"))
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, program := range programs {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(program)] = string(text)
	}
	return texts
}

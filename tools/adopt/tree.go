package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
)

// leavings are for those who adopt, and not for those who have adopted: from the
// copy "weir" cannot be told from other words any more.
var leavings = []string{"adopt_system_test.go", "docs/adopting.md", "scripts/adopt", "tools/adopt"}

// tree is a copy to be renamed.
type tree struct{ directory string }

// files are the paths of all files, relative to the tree.
func (t tree) files() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(t.directory), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache"}, entry.Name()) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// packages gives, by the name of each Go package, a directory that has it.
func (t tree) packages() (map[string]string, error) {
	names, err := t.files()
	if err != nil {
		return nil, err
	}
	packages := make(map[string]string)
	for _, name := range names {
		if filepath.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(t.directory, name), nil, parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		packages[file.Name.Name] = filepath.Dir(name)
	}
	return packages, nil
}

func (t tree) rename(naming naming) error {
	for _, name := range leavings {
		if err := os.RemoveAll(filepath.Join(t.directory, name)); err != nil {
			return err
		}
	}
	names, err := t.files()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.rewrite(name, naming); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return t.move(naming)
}

// rewrite renames what stands in a file. Checksums and the license are left
// alone; so is what is no text.
func (t tree) rewrite(name string, naming naming) error {
	if base := filepath.Base(name); base == "LICENSE" || strings.HasSuffix(base, ".sum") {
		return nil
	}
	path := filepath.Join(t.directory, name)
	before, err := os.ReadFile(path)
	if err != nil || !utf8.Valid(before) {
		return err
	}
	after, err := arrange(name, []byte(naming.texts.Replace(withoutLeavings(name, string(before)))))
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return os.WriteFile(path, after, 0) // it exists and keeps its permissions
}

// withoutLeavings removes what mentions the leavings: a target of the Makefile,
// and in Markdown each line with a link.
func withoutLeavings(name, text string) string {
	switch {
	case filepath.Base(name) == "Makefile":
		before, rest, found := strings.Cut(text, ".PHONY: adopt\n")
		_, after, ended := strings.Cut(rest, "\n\n")
		if found && ended {
			return before + after
		}
	case filepath.Ext(name) == ".md":
		lines := slices.Collect(strings.Lines(text))
		return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "adopting.md") }), "")
	}
	return text
}

// arrange restores the order and alignment that other names have upset.
func arrange(name string, text []byte) ([]byte, error) {
	switch filepath.Base(name) {
	case "go.mod":
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		file.SortBlocks()
		file.Cleanup()
		return file.Format()
	case "go.work":
		file, err := modfile.ParseWork(name, text, nil)
		if err != nil {
			return nil, err
		}
		file.SortBlocks()
		file.Cleanup()
		return modfile.Format(file.Syntax), nil
	}
	if filepath.Ext(name) == ".go" {
		return format.Source(text)
	}
	return text, nil
}

// move renames files and directories, the deepest first, so that no path changes
// before its turn.
func (t tree) move(naming naming) error {
	var paths []string
	err := fs.WalkDir(os.DirFS(t.directory), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(name), givenName) {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Reverse(paths)
	var faults []error
	for _, name := range paths {
		to := filepath.Join(filepath.Dir(name), naming.texts.Replace(filepath.Base(name)))
		faults = append(faults, os.Rename(filepath.Join(t.directory, name), filepath.Join(t.directory, to)))
	}
	return errors.Join(faults...)
}

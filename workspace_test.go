package weir

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// toolModules stay out of go.work: what they need, such as the limiters that
// Weir is measured against, must not decide the versions that the service is
// built with.
var toolModules = []string{"bench", "tools"}

// Modules that need nothing, not even for tests. Within a workspace a stray
// import would build all the same if any other module requires it.
var selfContained = []string{".", "lua", "shared-contract"}

// Ensure that the workspace is complete and consistent.
func TestWorkspace(t *testing.T) {
	for _, fault := range checkWorkspace(os.DirFS(".")) {
		t.Error(fault)
	}
}

// Ensure that every kind of fault of a workspace is caught, and only that one.
func TestWorkspaceCatchesPlantedFaults(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             string // empty for none
	}{
		{"nothing planted", "web/notes.md", "", ""},
		{"a module that go.work lacks", "queue/go.mod", "module example.com/weir/queue\n\ngo 1.26.0\n",
			"go.work does not use queue"},
		{"a module that is none", "go.work", "go 1.26.0\n\nuse (\n\t.\n\t./boot\n\t./lua\n\t./queue\n\t./web\n)\n",
			"go.work uses queue, which has no go.mod"},
		{"another Go version", "lua/go.mod", "module example.com/weir/lua\n\ngo 1.25.0\n",
			"lua/go.mod says go 1.25.0, go.work says 1.26.0"},
		{"another Go version of a tool", "tools/go.mod", "module example.com/weir/tools\n\ngo 1.25.0\n",
			"tools/go.mod says go 1.25.0, go.work says 1.26.0"},
		{"a path that is not the directory", "lua/go.mod", "module example.com/weir/programs\n\ngo 1.26.0\n",
			"lua/go.mod is of module example.com/weir/programs, want example.com/weir/lua"},
		{"a replace that is missing", "web/go.mod",
			"module example.com/weir/web\n\ngo 1.26.0\n\nrequire example.com/weir/boot v0.0.0\n\nreplace example.com/weir/boot => ../boot\n",
			"web/go.mod reaches example.com/weir/lua and must say: replace example.com/weir/lua => ../lua"},
		{"a replace that leads elsewhere", "boot/go.mod",
			"module example.com/weir/boot\n\ngo 1.26.0\n\nrequire example.com/weir/lua v0.0.0\n\nreplace example.com/weir/lua => ../../lua\n",
			"boot/go.mod reaches example.com/weir/lua and must say: replace example.com/weir/lua => ../lua"},
		{"a requirement of what needs nothing", "lua/go.mod",
			"module example.com/weir/lua\n\ngo 1.26.0\n\nrequire example.org/uuid v1.0.0\n",
			"lua/go.mod requires example.org/uuid"},
		{"a package without a comment", "web/answer/answer.go", "package answer\n",
			"package web/answer has no package comment"},
		{"a comment that is none of the package", "web/answer/answer.go", "// Copyright\n\npackage answer\n",
			"package web/answer has no package comment"},
		{"a package of tests only", "web/only/only_test.go", "package only\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := plantedWorkspace()
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			expectFault(t, checkWorkspace(tree), test.want)
		})
	}
}

func plantedWorkspace() fstest.MapFS {
	files := map[string]string{
		"go.work":      "go 1.26.0\n\nuse (\n\t.\n\t./boot\n\t./lua\n\t./web\n)\n",
		"go.mod":       "module example.com/weir\n\ngo 1.26.0\n",
		"doc.go":       "// Package weir is documented.\npackage weir\n",
		"tools/go.mod": "module example.com/weir/tools\n\ngo 1.26.0\n",
		"lua/go.mod":   "module example.com/weir/lua\n\ngo 1.26.0\n",
		"lua/lua.go":   "// Package lua is documented.\npackage lua\n",
		"boot/go.mod":  "module example.com/weir/boot\n\ngo 1.26.0\n\nrequire example.com/weir/lua v0.0.0\n\nreplace example.com/weir/lua => ../lua\n",
		"web/go.mod": "module example.com/weir/web\n\ngo 1.26.0\n\nrequire (\n\texample.com/weir/boot v0.0.0\n\texample.org/x v1.0.0 // indirect\n)\n\n" +
			"replace (\n\texample.com/weir/boot => ../boot\n\texample.com/weir/lua => ../lua\n)\n",
		"web/answer/answer.go": "// Package answer is documented.\npackage answer\n",
	}
	tree := make(fstest.MapFS, len(files))
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// goMod is what the rules need to know of a go.mod or go.work.
type goMod struct {
	module   string
	version  string
	requires []string
	replaces map[string]string
	uses     []string
}

func checkWorkspace(tree fs.FS) []string {
	work, err := readGoMod(tree, "go.work")
	if err != nil {
		return []string{err.Error()}
	}
	modules := make(map[string]goMod)
	for _, directory := range slices.Concat(directoriesWithGoMod(tree), toolModules) {
		file, err := readGoMod(tree, path.Join(directory, "go.mod"))
		if err == nil {
			modules[directory] = file
		}
	}
	faults := checkUses(work, modules)
	for _, directory := range slices.Sorted(maps.Keys(modules)) {
		faults = append(faults, checkGoMod(directory, work, modules)...)
	}
	return append(faults, checkPackageComments(tree)...)
}

func directoriesWithGoMod(tree fs.FS) []string {
	_, modules, err := read(tree)
	if err != nil {
		return nil // the architecture reports it
	}
	return modules
}

func checkUses(work goMod, modules map[string]goMod) (faults []string) {
	for _, directory := range slices.Sorted(maps.Keys(modules)) {
		if !slices.Contains(toolModules, directory) && !slices.Contains(work.uses, directory) {
			faults = append(faults, fmt.Sprintf("go.work does not use %s", directory))
		}
	}
	for _, directory := range work.uses {
		if _, ok := modules[directory]; !ok {
			faults = append(faults, fmt.Sprintf("go.work uses %s, which has no go.mod", directory))
		}
	}
	return faults
}

func checkGoMod(directory string, work goMod, modules map[string]goMod) (faults []string) {
	file, name := modules[directory], path.Join(directory, "go.mod")
	if file.module != importPath(directory) {
		faults = append(faults, fmt.Sprintf("%s is of module %s, want %s", name, file.module, importPath(directory)))
	}
	if file.version != work.version {
		faults = append(faults, fmt.Sprintf("%s says go %s, go.work says %s", name, file.version, work.version))
	}
	if slices.Contains(selfContained, directory) {
		for _, required := range file.requires {
			faults = append(faults, fmt.Sprintf("%s requires %s, and must require nothing", name, required))
		}
		return faults
	}
	for _, reached := range reachable(directory, modules) {
		want := relative(directory, reached)
		if file.replaces[importPath(reached)] != want {
			faults = append(faults, fmt.Sprintf("%s reaches %s and must say: replace %s => %s", name, importPath(reached), importPath(reached), want))
		}
	}
	return faults
}

// reachable gives the directories of the modules of the house that a module
// requires, or that these require.
func reachable(directory string, modules map[string]goMod) []string {
	seen := map[string]bool{directory: true}
	var follow func(string)
	follow = func(from string) {
		for _, required := range modules[from].requires {
			to, ours := strings.CutPrefix(required, modulePrefix+"/")
			if ours && !seen[to] {
				seen[to] = true
				follow(to)
			}
		}
	}
	follow(directory)
	delete(seen, directory)
	return slices.Sorted(maps.Keys(seen))
}

// relative is the path from one module's directory to another's.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")+1) + to
}

// checkPackageComments wants one in every package that is not of tests only.
func checkPackageComments(tree fs.FS) (faults []string) {
	sources, _, err := read(tree)
	if err != nil {
		return []string{err.Error()}
	}
	documented := make(map[string]bool)
	for _, file := range sources {
		if file.test {
			continue
		}
		text, err := fs.ReadFile(tree, file.path)
		if err != nil {
			return []string{err.Error()}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.path, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return []string{err.Error()}
		}
		documented[file.directory] = documented[file.directory] || parsed.Doc != nil
	}
	for _, directory := range slices.Sorted(maps.Keys(documented)) {
		if !documented[directory] {
			faults = append(faults, fmt.Sprintf("package %s has no package comment", directory))
		}
	}
	return faults
}

var (
	comment = regexp.MustCompile(`\s*//.*`)
	block   = regexp.MustCompile(`^(\w+) \($`)
)

// readGoMod understands the canonical form in which the go command writes these
// files.
func readGoMod(tree fs.FS, name string) (goMod, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return goMod{}, err
	}
	file := goMod{replaces: make(map[string]string)}
	verb := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
		if opened := block.FindStringSubmatch(line); opened != nil {
			verb = opened[1]
			continue
		}
		if line == ")" {
			verb = ""
			continue
		}
		fields := strings.Fields(strings.TrimSpace(verb + " " + line))
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "module":
			file.module = fields[1]
		case "go":
			file.version = fields[1]
		case "require":
			file.requires = append(file.requires, fields[1])
		case "use":
			file.uses = append(file.uses, path.Clean(fields[1]))
		case "replace":
			file.replaces[fields[1]] = fields[len(fields)-1]
		}
	}
	return file, nil
}

// sourcesOfTheHouse reads the Go files and go.mod files of this tree, so that
// something can be planted among them.
func sourcesOfTheHouse(t *testing.T) fstest.MapFS {
	t.Helper()
	tree := os.DirFS(".")
	sources, modules, err := read(tree)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range sources {
		names = append(names, file.path)
	}
	for _, directory := range modules {
		names = append(names, path.Join(directory, "go.mod"))
	}
	house := make(fstest.MapFS, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		house[name] = &fstest.MapFile{Data: text}
	}
	return house
}

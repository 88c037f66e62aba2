package weir

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// modulePrefix starts the path of every module of the house.
const modulePrefix = "example.com/weir"

// rules are an architecture as data.
type rules struct {
	modules      []module
	permissions  []permission
	reservations []reservation
	prohibitions []prohibition
	vocabularies []vocabulary
	testSupport  []testSupport
}

// module is a directory with a go.mod. Modules of tools are not listed.
type module struct {
	directory string
	role      string
}

// scope says to which files a permission applies.
type scope int

const (
	everywhere scope = iota + 1
	testsOnly
)

// permission: files in directory from, and below it, may import the package to,
// and those below it.
type permission struct {
	from    string
	to      string
	scope   scope
	because string
}

// reservation: only files below one of the holders import the package, apart
// from itself.
type reservation struct {
	imported string
	holders  []string
	because  string
}

// prohibition: no file below from imports the package to, or one below it, not
// even from the standard library.
type prohibition struct {
	from    string
	to      string
	because string
}

// vocabulary: in a module only the holder uses these names of net/http, or
// writes these numbers. Tests may.
type vocabulary struct {
	module  string
	holder  string
	names   []string
	codes   []string
	because string
}

// testSupport: a package that is for tests although its name does not end in
// "test".
type testSupport struct {
	directory string
	because   string
}

// source is one parsed file.
type source struct {
	path      string // with slashes, relative to the root
	directory string
	module    string // directory of the module that it belongs to
	test      bool
	imports   []string
	words     []string // net/http names and integer literals it uses
}

// check gives the faults of the tree, and of the rules themselves.
func (r rules) check(tree fs.FS) []string {
	sources, modules, err := read(tree)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	faults = append(faults, r.checkModules(modules)...)
	faults = append(faults, r.checkPermissions(sources)...)
	faults = append(faults, r.checkReservations(sources)...)
	faults = append(faults, r.checkProhibitions(sources)...)
	faults = append(faults, r.checkProhibited(tree, sources, modules)...)
	faults = append(faults, r.checkVocabularies(sources)...)
	faults = append(faults, r.checkTestSupport(sources)...)
	return faults
}

func (r rules) checkModules(found []string) (faults []string) {
	for _, directory := range found {
		if !slices.ContainsFunc(r.modules, func(m module) bool { return m.directory == directory }) {
			faults = append(faults, fmt.Sprintf("module %s has no row in the architecture", directory))
		}
	}
	for _, m := range r.modules {
		if !slices.Contains(found, m.directory) {
			faults = append(faults, fmt.Sprintf("row of module %s (%s) applies to nothing", m.directory, m.role))
		}
	}
	return faults
}

func (r rules) checkPermissions(sources []source) (faults []string) {
	used := make([]bool, len(r.permissions))
	for _, file := range sources {
		for _, imported := range file.imports {
			if isStandard(imported) || r.moduleOf(imported) == file.module {
				continue
			}
			permitted := false
			for i, p := range r.permissions {
				if isOf(file.directory, p.from) && isOf(imported, p.to) && (p.scope == everywhere || r.supportsTests(file)) {
					permitted, used[i] = true, true
				}
			}
			if !permitted {
				faults = append(faults, fmt.Sprintf("%s imports %s, for which no permission stands in the architecture", file.path, imported))
			}
		}
	}
	for i, p := range r.permissions {
		if !used[i] {
			faults = append(faults, fmt.Sprintf("permission of %s to import %s applies to nothing", p.from, p.to))
		}
	}
	return faults
}

func (r rules) checkReservations(sources []source) (faults []string) {
	for _, rule := range r.reservations {
		used := make([]bool, len(rule.holders))
		for _, file := range sources {
			if importPath(file.directory) == rule.imported || !slices.Contains(file.imports, rule.imported) {
				continue
			}
			holder := slices.IndexFunc(rule.holders, func(holder string) bool { return isOf(file.directory, holder) })
			if holder < 0 {
				faults = append(faults, fmt.Sprintf("%s imports %s, which is reserved: %s", file.path, rule.imported, rule.because))
				continue
			}
			used[holder] = true
		}
		for i, holder := range rule.holders {
			if !used[i] {
				faults = append(faults, fmt.Sprintf("reservation of %s for %s applies to nothing", rule.imported, holder))
			}
		}
	}
	return faults
}

func (r rules) checkProhibitions(sources []source) (faults []string) {
	for _, rule := range r.prohibitions {
		applies := false
		for _, file := range sources {
			if !isOf(file.directory, rule.from) {
				continue
			}
			applies = true
			for _, imported := range file.imports {
				if isOf(imported, rule.to) {
					faults = append(faults, fmt.Sprintf("%s imports %s, which is forbidden: %s", file.path, imported, rule.because))
				}
			}
		}
		if !applies {
			faults = append(faults, fmt.Sprintf("prohibition of %s in %s applies to nothing", rule.to, rule.from))
		}
	}
	return faults
}

// checkProhibited: nobody imports what is forbidden, so only this tells whether
// it is a package at all, or a name that was mistyped.
func (r rules) checkProhibited(tree fs.FS, sources []source, modules []string) (faults []string) {
	required := make(map[string]bool)
	for _, directory := range modules {
		file, err := readGoMod(tree, path.Join(directory, "go.mod"))
		if err != nil {
			return []string{err.Error()}
		}
		for _, module := range file.requires {
			required[module] = true
		}
	}
	standard, err := standardLibrary()
	if err != nil {
		return []string{err.Error()}
	}
	for _, rule := range r.prohibitions {
		if !isPackage(rule.to, standard, sources, required) {
			faults = append(faults, fmt.Sprintf("prohibition of %s in %s names no package: not of the standard library, of the house, or of a module that a go.mod requires", rule.to, rule.from))
		}
	}
	return faults
}

// isPackage reports whether packages with this path, or below it, can be
// imported.
func isPackage(imported string, standard fs.FS, sources []source, required map[string]bool) bool {
	if directory, ours := directoryOf(imported); ours {
		return slices.ContainsFunc(sources, func(file source) bool { return isOf(file.directory, directory) })
	}
	if isStandard(imported) {
		files, err := fs.Glob(standard, path.Join(imported, "*.go"))
		return err == nil && len(files) > 0
	}
	for module := range required {
		if isOf(imported, module) {
			return true
		}
	}
	return false
}

// standardLibrary holds the sources of the standard library. A binary built with
// -trimpath does not know where Go is; go test puts it on PATH.
func standardLibrary() (fs.FS, error) {
	root := build.Default.GOROOT
	if root == "" {
		command, err := exec.LookPath("go")
		if err != nil {
			return nil, fmt.Errorf("find the standard library: %w", err)
		}
		if command, err = filepath.EvalSymlinks(command); err != nil {
			return nil, fmt.Errorf("find the standard library: %w", err)
		}
		root = filepath.Dir(filepath.Dir(command))
	}
	return os.DirFS(filepath.Join(root, "src")), nil
}

func (r rules) checkVocabularies(sources []source) (faults []string) {
	for _, rule := range r.vocabularies {
		spoken := make(map[string]bool)
		for _, file := range sources {
			if file.test || !isOf(file.directory, rule.module) {
				continue
			}
			for _, word := range file.words {
				if !slices.Contains(rule.names, word) && !slices.Contains(rule.codes, word) {
					continue
				}
				if !isOf(file.directory, rule.holder) {
					faults = append(faults, fmt.Sprintf("%s uses %s: %s", file.path, word, rule.because))
					continue
				}
				spoken[word] = true
			}
		}
		for _, name := range rule.names {
			if !spoken[name] {
				faults = append(faults, fmt.Sprintf("vocabulary word %s of %s applies to nothing", name, rule.holder))
			}
		}
	}
	return faults
}

// checkTestSupport: what is for tests stays out of production.
func (r rules) checkTestSupport(sources []source) (faults []string) {
	used := make([]bool, len(r.testSupport))
	for _, file := range sources {
		for i, support := range r.testSupport {
			used[i] = used[i] || isOf(file.directory, support.directory)
		}
		if r.supportsTests(file) {
			continue
		}
		for _, imported := range file.imports {
			directory, ours := directoryOf(imported)
			if ours && r.isForTests(directory) {
				faults = append(faults, fmt.Sprintf("%s imports %s, which is for tests", file.path, imported))
			}
		}
	}
	for i, support := range r.testSupport {
		if !used[i] {
			faults = append(faults, fmt.Sprintf("test support %s applies to nothing", support.directory))
		}
	}
	return faults
}

func (r rules) supportsTests(file source) bool { return file.test || r.isForTests(file.directory) }

// isForTests goes by the habit of the standard library: the package's name ends
// in "test".
func (r rules) isForTests(directory string) bool {
	return strings.HasSuffix(path.Base(directory), "test") ||
		slices.ContainsFunc(r.testSupport, func(s testSupport) bool { return isOf(directory, s.directory) })
}

// moduleOf gives the directory of the module that a package of the house
// belongs to, and nothing for any other package.
func (r rules) moduleOf(imported string) string {
	directory, ours := directoryOf(imported)
	if !ours {
		return ""
	}
	directories := make([]string, len(r.modules))
	for i, m := range r.modules {
		directories[i] = m.directory
	}
	return innermost(directory, directories)
}

// read parses every Go file of the house and finds its modules.
func read(tree fs.FS) (sources []source, modules []string, err error) {
	var directories []string
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if isOutside(name) {
				return fs.SkipDir
			}
			directories = append(directories, name)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, directory := range directories {
		if _, err := fs.Stat(tree, path.Join(directory, "go.mod")); err == nil {
			modules = append(modules, directory)
		}
	}
	for _, directory := range directories {
		names, err := fs.Glob(tree, path.Join(directory, "*.go"))
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			file, err := parse(tree, name)
			if err != nil {
				return nil, nil, err
			}
			file.module = innermost(directory, modules)
			sources = append(sources, file)
		}
	}
	return sources, modules, nil
}

// isOutside reports whether a directory is none of the house's: what tools keep
// for themselves, test data, and modules of tools that stay out of go.work.
func isOutside(name string) bool {
	base := path.Base(name)
	return slices.Contains(toolModules, name) || base == "testdata" ||
		name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"))
}

func parse(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{path: name, directory: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	httpName := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
		if imported == "net/http" {
			httpName = "http"
			if spec.Name != nil {
				httpName = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if of, ok := node.X.(*ast.Ident); ok && httpName != "" && of.Name == httpName {
				s.words = append(s.words, node.Sel.Name)
			}
		case *ast.BasicLit:
			if node.Kind == token.INT {
				s.words = append(s.words, node.Value)
			}
		}
		return true
	})
	return s, nil
}

// isOf reports whether name is parent or lies below it.
func isOf(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

// isStandard reports whether an import path is of the standard library: its
// first element is no host name.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func importPath(directory string) string { return path.Join(modulePrefix, directory) }

// directoryOf gives the directory of a package of the house.
func directoryOf(imported string) (directory string, ours bool) {
	if imported == modulePrefix {
		return ".", true
	}
	return strings.CutPrefix(imported, modulePrefix+"/")
}

// innermost gives the longest of the directories that holds name.
func innermost(name string, directories []string) string {
	best := "."
	for _, directory := range directories {
		if isOf(name, directory) && len(directory) > len(best) {
			best = directory
		}
	}
	return best
}

package weir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

const (
	decisionsDirectory = "docs/adr"
	evidencePage       = "docs/evidence.md"
)

// decisionSections are those of every decision record, in this order.
var decisionSections = []string{"Status", "Context", "Decision", "Consequences", "Confirmation"}

// Ensure that every decision record names tests that exist, and that the index
// lists every record.
func TestDecisionRecords(t *testing.T) {
	for _, fault := range checkDecisions(os.DirFS(".")) {
		t.Error(fault)
	}
}

// Ensure that everything that Weir promises is held by tests that exist.
func TestEvidence(t *testing.T) {
	for _, fault := range checkEvidence(os.DirFS(".")) {
		t.Error(fault)
	}
}

// Ensure that a promise without a test, and a test that was renamed, are caught.
func TestEvidenceCatchesPlantedFaults(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want string // empty for none
	}{
		"a promise that is held":   {"# Evidence\n\n* Kept: `lua/lua_test.go: TestProgram`.\n", ""},
		"a promise without a test": {"* Kept: `lua/lua_test.go: TestProgram`.\n* Promised.\n", "the page names no test in \"Promised.\""},
		"a test that was renamed":  {"* Kept: `lua/lua_test.go: TestPrograms`.\n", "evidence.md: lua/lua_test.go has no TestPrograms"},
		"no promise":               {"# Evidence\n", "the page names no test"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := plantedDocuments()
			tree[evidencePage] = &fstest.MapFile{Data: []byte(test.text)}
			expectOneFault(t, checkEvidence(tree), test.want)
		})
	}
	t.Run("no page", func(t *testing.T) { expectOneFault(t, checkEvidence(plantedDocuments()), "evidence.md") })
}

// Ensure that every relative link in a Markdown file leads somewhere.
func TestMarkdownLinks(t *testing.T) {
	for _, fault := range checkLinks(os.DirFS(".")) {
		t.Error(fault)
	}
}

// Ensure that each rule for decision records catches a violation planted for it,
// and only that one.
func TestDecisionRecordsCatchPlantedFaults(t *testing.T) {
	const (
		record = "docs/adr/0001-first.md"
		tests  = "lua/lua_test.go"
	)
	for name, test := range map[string]struct {
		file, text string // an empty text removes the file
		want       string // empty for none
	}{
		"nothing planted": {"docs/adr/notes.txt", "no record", ""},
		"two tests in one item": {record,
			plantedDecision("* `lua/lua_test.go: TestProgram` and `lua/lua_test.go: FuzzProgram` hold it."), ""},
		"an item of two lines": {record,
			plantedDecision("* It is held by\n  `lua/lua_test.go: ExampleProgram`."), ""},
		"a test that does not exist": {record, plantedDecision("* `lua/lua_test.go: TestNothing` holds it."),
			"0001-first.md: lua/lua_test.go has no TestNothing"},
		"a test that was renamed": {tests, strings.Replace(plantedTests, "func TestProgram(", "func TestPrograms(", 1),
			"0001-first.md: lua/lua_test.go has no TestProgram"},
		"a method that is called like a test": {record, plantedDecision("* `lua/lua_test.go: TestMethod` holds it."),
			"has no TestMethod"},
		"a function that is no test": {record, plantedDecision("* `lua/lua_test.go: helper` holds it."),
			"helper is no test"},
		"the main function of tests": {record, plantedDecision("* `lua/lua_test.go: TestMain` holds it."),
			"TestMain is no test"},
		"a file that does not exist": {record, plantedDecision("* `lua/other_test.go: TestProgram` holds it."),
			"lua/other_test.go"},
		"a file that holds no tests": {record, plantedDecision("* `lua/lua.go: TestProgram` holds it."),
			"lua/lua.go is no file of tests"},
		"a file that does not parse": {tests, "pakage lua_test", "lua/lua_test.go:1:1"},
		"an item without a test": {record,
			plantedDecision("* `lua/lua_test.go: TestProgram` holds it.\n* Reviewers look at it."),
			"Confirmation names no test in \"Reviewers look at it.\""},
		"an empty Confirmation": {record, plantedDecision(""), "Confirmation names no test"},
		"no Confirmation": {record, strings.Replace(plantedDecision(""), "## Confirmation\n", "", 1),
			"sections are Status, Context, Decision, Consequences; must be"},
		"a Confirmation that is not the end": {record,
			plantedDecision("* `lua/lua_test.go: TestProgram` holds it.\n\n## Notes"), "sections are"},
		"a Confirmation in a code block": {record,
			strings.Replace(plantedDecision(""), "## Confirmation\n", "```\n## Confirmation\n```\n", 1), "sections are"},
		"an index that misses a record": {"docs/adr/README.md", "# Decisions\n\n* [Second](0002-second.md)\n",
			"docs/adr/README.md does not list 0001-first.md"},
		"no index":                 {"docs/adr/README.md", "", "docs/adr/README.md"},
		"a number that is missing": {record, "", "0002-second.md must be number 0001"},
		"a name in another form":   {"docs/adr/third.md", plantedDecision("* `lua/lua_test.go: TestProgram`"), "third.md is not named as 0001-in-kebab-case.md"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := plantedDocuments()
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			if test.text == "" {
				delete(tree, test.file)
			}
			expectOneFault(t, checkDecisions(tree), test.want)
		})
	}
	t.Run("no records", func(t *testing.T) {
		expectOneFault(t, checkDecisions(fstest.MapFS{"docs/adr/README.md": {Data: []byte("# Decisions\n")}}), "holds no decision record")
	})
}

// Ensure that each kind of link that leads nowhere is caught, and that what is
// no relative link is left alone.
func TestMarkdownLinksCatchPlantedFaults(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want string // empty for none
	}{
		"a file":                    {"[a](../adr/0001-first.md)", ""},
		"a file beside it":          {"[a](page.md)", ""},
		"a directory":               {"[a](../../lua) and [b](../../lua/)", ""},
		"from the root":             {"[a](/lua/lua_test.go)", ""},
		"a line of a file":          {"[a](../../lua/lua_test.go#L3)", ""},
		"a heading":                 {"[a](../adr/0001-first.md#the-first-one)", ""},
		"a heading of its own":      {"# Über: `all` of_it!\n\n[a](#über-all-of_it)", ""},
		"an escaped name":           {"[a](with%20space.md)", ""},
		"a title":                   {`[a](page.md "a title")`, ""},
		"another host":              {"[a](https://example.org/nothing.md) [b](mailto:nobody@example.org) [c](//example.org/x)", ""},
		"code":                      {"`[a](nothing.md)`\n\n```\n[a](nothing.md)\n```\n\n~~~md\n[a](nothing.md)\n~~~\n", ""},
		"no file":                   {"[a](nothing.md)", "docs/guide/planted.md links to nothing.md, which does not exist"},
		"no file, code as text":     {"[`a`](nothing.md)", "links to nothing.md"},
		"no file, behind code":      {"```\ncode\n```\n\n[a](nothing.md)", "links to nothing.md"},
		"no file from the root":     {"[a](/docs/nothing.md)", "links to /docs/nothing.md"},
		"no image":                  {"![a](nothing.svg)", "links to nothing.svg"},
		"no image in HTML":          {`<img alt="" src="nothing.svg">`, "links to nothing.svg"},
		"no file of a reference":    {"[a][b]\n\n[b]: nothing.md\n", "links to nothing.md"},
		"no heading":                {"[a](../adr/0001-first.md#the-second-one)", "0001-first.md#the-second-one, which has no such heading"},
		"no heading of its own":     {"[a](#nowhere)", "#nowhere, which has no such heading"},
		"a heading in a code block": {"```\n# Nowhere\n```\n\n[a](#nowhere)", "#nowhere, which has no such heading"},
		"outside":                   {"[a](../../../other/README.md)", "links to ../../../other/README.md, which does not exist"},
		"no address":                {"[a](%zz)", "links to %zz"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := plantedDocuments()
			tree["docs/guide/page.md"] = &fstest.MapFile{Data: []byte("# Page\n")}
			tree["docs/guide/with space.md"] = &fstest.MapFile{Data: []byte("# Page\n")}
			tree["docs/guide/planted.md"] = &fstest.MapFile{Data: []byte(test.text)}
			expectOneFault(t, checkLinks(tree), test.want)
		})
	}
}

// plantedTests is a file of tests that planted records refer to.
const plantedTests = `package lua_test

func TestProgram(t *testing.T) {}
func FuzzProgram(f *testing.F) {}
func ExampleProgram() {}
func TestMain(m *testing.M) {}
func helper() {}

type suite struct{}

func (suite) TestMethod(t *testing.T) {}
`

// plantedDocuments keep all rules.
func plantedDocuments() fstest.MapFS {
	return fstest.MapFS{
		"docs/adr/README.md":      {Data: []byte("# Decisions\n\n* [First](0001-first.md)\n* [Second](0002-second.md)\n")},
		"docs/adr/0001-first.md":  {Data: []byte(plantedDecision("* `lua/lua_test.go: TestProgram` holds it."))},
		"docs/adr/0002-second.md": {Data: []byte(plantedDecision("* `web/web_test.go: TestWeb` holds it."))},
		"lua/lua.go":              {Data: []byte("package lua\n\nfunc TestProgram() {}\n")},
		"lua/lua_test.go":         {Data: []byte(plantedTests)},
		"web/web_test.go":         {Data: []byte("package web_test\n\nfunc TestWeb(t *testing.T) {}\n")},
		".cache/module/README.md": {Data: []byte("[not ours](nothing.md)")},
	}
}

func plantedDecision(confirmation string) string {
	return "# The first one\n\n## Status\n\nAccepted.\n\n## Context\n\n## Decision\n\n## Consequences\n\n## Confirmation\n\n" + confirmation + "\n"
}

func expectOneFault(t *testing.T, faults []string, want string) {
	t.Helper()
	if want == "" && len(faults) == 0 {
		return
	}
	if len(faults) != 1 || want == "" || !strings.Contains(faults[0], want) {
		t.Errorf("faults %q, want one with %q", faults, want)
	}
}

var (
	decisionName = regexp.MustCompile(`^\d{4}(-[a-z0-9]+)+\.md$`)
	section      = regexp.MustCompile(`(?m)^## (.+)$`)
	item         = regexp.MustCompile(`(?m)^\* `)
	// reference is a file of tests and one of its tests.
	reference = regexp.MustCompile("`([^`:\\s]+\\.go): (\\w+)`")
)

// checkDecisions gives the faults of the decision records and of their index.
func checkDecisions(tree fs.FS) (faults []string) {
	index := path.Join(decisionsDirectory, "README.md")
	listed, err := fs.ReadFile(tree, index)
	if err != nil {
		return []string{err.Error()}
	}
	names, err := fs.Glob(tree, path.Join(decisionsDirectory, "*.md"))
	if err != nil {
		return []string{err.Error()}
	}
	number := 0
	for _, name := range names {
		if name == index {
			continue
		}
		base := path.Base(name)
		if !decisionName.MatchString(base) {
			faults = append(faults, fmt.Sprintf("%s is not named as 0001-in-kebab-case.md", name))
			continue
		}
		number++
		if want := fmt.Sprintf("%04d", number); !strings.HasPrefix(base, want) {
			faults = append(faults, fmt.Sprintf("%s must be number %s", name, want))
		}
		if !strings.Contains(string(listed), "]("+base+")") {
			faults = append(faults, fmt.Sprintf("%s does not list %s", index, base))
		}
		faults = append(faults, checkDecision(tree, name)...)
	}
	if number == 0 && len(faults) == 0 {
		faults = append(faults, decisionsDirectory+" holds no decision record")
	}
	return faults
}

func checkDecision(tree fs.FS, name string) (faults []string) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return []string{err.Error()}
	}
	prose := withoutCodeBlocks(string(text))
	var sections []string
	for _, match := range section.FindAllStringSubmatch(prose, -1) {
		sections = append(sections, match[1])
	}
	if !slices.Equal(sections, decisionSections) {
		return []string{fmt.Sprintf("%s: sections are %s; must be %s", name,
			strings.Join(sections, ", "), strings.Join(decisionSections, ", "))}
	}
	_, confirmation, _ := strings.Cut(prose, "\n## Confirmation\n")
	return checkClaims(tree, name, "Confirmation", confirmation)
}

// checkEvidence gives the faults of the page that says what holds each promise.
func checkEvidence(tree fs.FS) []string {
	text, err := fs.ReadFile(tree, evidencePage)
	if err != nil {
		return []string{err.Error()}
	}
	return checkClaims(tree, evidencePage, "the page", withoutCodeBlocks(string(text)))
}

// checkClaims holds that each item of a text names tests that exist.
func checkClaims(tree fs.FS, name, part, text string) (faults []string) {
	items := item.Split(text, -1)[1:]
	if len(items) == 0 {
		return []string{fmt.Sprintf("%s: %s names no test", name, part)}
	}
	for _, text := range items {
		references := reference.FindAllStringSubmatch(text, -1)
		if len(references) == 0 {
			faults = append(faults, fmt.Sprintf("%s: %s names no test in %q", name, part, strings.TrimSpace(text)))
		}
		for _, match := range references {
			if problem := testProblem(tree, match[1], match[2]); problem != "" {
				faults = append(faults, name+": "+problem)
			}
		}
	}
	return faults
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// testProblem says why file has no such test; empty if it has.
func testProblem(tree fs.FS, file, name string) string {
	switch {
	case !strings.HasSuffix(file, "_test.go"):
		return file + " is no file of tests"
	case !testName.MatchString(name) || name == "TestMain":
		return name + " is no test"
	}
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return err.Error()
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err.Error()
	}
	for _, declaration := range parsed.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == name {
			return ""
		}
	}
	return fmt.Sprintf("%s has no %s", file, name)
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^ *(?:```.*?\n *```|~~~.*?\n *~~~) *$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	titles     = regexp.MustCompile(`(?m)^#{1,6} +(.+?)(?: +#*)?$`)
	inlineLink = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	definition = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)`)
	attribute  = regexp.MustCompile(`\b(?:href|src)="([^"]+)"`)
)

func withoutCodeBlocks(text string) string { return codeBlock.ReplaceAllString(text, "") }

// checkLinks gives the relative links of all Markdown files that lead nowhere.
func checkLinks(tree fs.FS) (faults []string) {
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache", "node_modules"}, entry.Name()) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, link := range links(string(text)) {
			if problem := linkProblem(tree, name, link); problem != "" {
				faults = append(faults, fmt.Sprintf("%s links to %s, %s", name, link, problem))
			}
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

// links are the targets that stand in text, code left out.
func links(text string) []string {
	prose := codeSpan.ReplaceAllString(withoutCodeBlocks(text), "")
	found := make(map[string]bool)
	for _, form := range []*regexp.Regexp{inlineLink, definition, attribute} {
		for _, match := range form.FindAllStringSubmatch(prose, -1) {
			found[match[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// linkProblem says why a link in the file from leads nowhere; empty if it leads
// somewhere or is no relative link.
func linkProblem(tree fs.FS, from, link string) string {
	target, err := url.Parse(link)
	if err != nil {
		return "which is no address"
	}
	if target.Scheme != "" || target.Host != "" {
		return ""
	}
	file := path.Join(path.Dir(from), target.Path)
	switch {
	case target.Path == "":
		file = from
	case strings.HasPrefix(target.Path, "/"):
		file = path.Join(".", target.Path[1:])
	}
	if _, err := fs.Stat(tree, file); err != nil {
		return "which does not exist"
	}
	if target.Fragment == "" || path.Ext(file) != ".md" {
		return ""
	}
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return err.Error()
	}
	for _, match := range titles.FindAllStringSubmatch(withoutCodeBlocks(string(text)), -1) {
		if anchor(match[1]) == target.Fragment {
			return ""
		}
	}
	return "which has no such heading"
}

// anchor is the name by which a heading is linked to: in lower case, with
// hyphens for spaces, without punctuation.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sectionHeading is a heading of docs/configuration.md that names a section.
var sectionHeading = regexp.MustCompile(`(?m)^#+ (app\.\S+)$`)

// Ensure that every key stands in its section of the documentation, and that
// every section of the documentation exists.
func TestDocumentationHasEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	places := sectionHeading.FindAllSubmatchIndex(text, -1)
	for i, place := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		name := withAnyName(text[place[2]:place[3]])
		sections[name] = withAnyName(text[place[1]:end])
		if !slices.ContainsFunc(knownKeys(), func(key string) bool { return strings.HasPrefix(key, name+delimiter) }) {
			t.Errorf("there is no section %s", name)
		}
	}
	for _, key := range knownKeys() {
		if !isDocumented(sections, key) {
			t.Errorf("%s is not documented", key)
		}
	}
}

// withAnyName writes names that operators choose as knownKeys does.
func withAnyName(text []byte) string { return strings.ReplaceAll(string(text), "NAME", anyName) }

// isDocumented reports whether key is a section, or a row of one says what it
// means by what follows the section's name.
func isDocumented(sections map[string]string, key string) bool {
	for name, text := range sections {
		if name == key || strings.HasPrefix(name, key+delimiter) {
			return true
		}
		rest, within := strings.CutPrefix(key, name+delimiter)
		if within && regexp.MustCompile("(?m)^\\|[^|]*`"+regexp.QuoteMeta(rest)+"[`.]").MatchString(text) {
			return true
		}
	}
	return false
}

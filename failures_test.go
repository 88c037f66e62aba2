package weir_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	category            = regexp.MustCompile(`(?m)^(?:const |\t)\w+ Category = "([a-z-]+)"$`)
	describedCategories = regexp.MustCompile(`(?s)\n    Category:\n.*?enum:\n((?: +- [a-z-]+\n)+)`)
)

// Ensure that every category of failure is in the description of the API, and
// that the document which answers it is kept, so that nobody adds one and
// forgets its callers.
func TestEveryFailureIsDescribed(t *testing.T) {
	contract := readText(t, "shared-contract/failure/failure.go")
	evaluation := readText(t, "adapter-inbound-web/evaluation/evaluation.go")
	want := []string{"disabled"} // which belongs to the decision API alone
	if !strings.Contains(evaluation, `failure.Category = "disabled"`) {
		t.Error("the decision API has no category disabled")
	}
	for _, match := range category.FindAllStringSubmatch(contract, -1) {
		want = append(want, match[1])
	}
	if len(want) < 10 {
		t.Fatalf("only %q were found", want)
	}
	described := describedCategories.FindStringSubmatch(readText(t, "adapter-inbound-web/management/openapi.yaml"))
	if described == nil {
		t.Fatal("the description of the API has no categories")
	}
	got := strings.Fields(strings.ReplaceAll(described[1], "- ", ""))
	documents, err := fs.Glob(os.DirFS("adapter-inbound-web/answer/testdata/failures"), "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range want {
		if !slices.Contains(got, category) {
			t.Errorf("the description of the API has no category %s", category)
		}
		if !slices.ContainsFunc(documents, func(name string) bool { return strings.HasSuffix(name, "-"+category+".txt") }) {
			t.Errorf("no document of category %s is kept", category)
		}
	}
	if len(got) != len(want) {
		t.Errorf("described are %q, want %q", got, want)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

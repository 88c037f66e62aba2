package weir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// plantedRules is a small architecture with one rule of each kind.
var plantedRules = rules{
	modules: []module{{".", "rules"}, {"contract", "ports"}, {"web", "HTTP"}, {"boot", "everything"}},
	permissions: []permission{
		{"web", "example.com/weir/contract", everywhere, "speaks the contract"},
		{"boot", "example.com/weir/web", everywhere, "connects"},
		{"web/answer", "example.org/fields", everywhere, "structured fields"},
		{"web", "example.org/assert", testsOnly, "assertions"},
	},
	reservations: []reservation{{"example.com/weir/web/local", []string{"web/edge"}, "compatibility only"}},
	prohibitions: []prohibition{
		{"contract", "net/http", "no status codes"},
		{"contract", "example.org/fields", "no fields"},
		{"contract", "example.com/weir/web/answer", "no answers"},
	},
	vocabularies: []vocabulary{{module: "web", holder: "web/answer", names: []string{"StatusTooManyRequests"}, codes: []string{"429"}, because: "one place"}},
	testSupport:  []testSupport{{"web/model", "a model"}},
}

// plantedTree keeps plantedRules.
func plantedTree() fstest.MapFS {
	files := map[string]string{
		"go.mod":                   "",
		"doc.go":                   "package weir",
		"contract/go.mod":          "",
		"contract/port.go":         "package contract\nimport _ \"time\"",
		"contract/porttest/a.go":   "package porttest\nimport _ \"example.com/weir/contract\"",
		"web/go.mod":               "require example.org/fields v1.0.0",
		"web/answer/answer.go":     "package answer\nimport (\n\"net/http\"\n_ \"example.org/fields\"\n)\nvar _ = http.StatusTooManyRequests",
		"web/local/local.go":       "package local",
		"web/local/local_test.go":  "package local_test\nimport (\n_ \"example.com/weir/web/local\"\n_ \"example.org/assert\"\n)",
		"web/edge/edge.go":         "package edge\nimport (\n_ \"example.com/weir/contract\"\n_ \"example.com/weir/web/local\"\n)",
		"web/edge/edge_test.go":    "package edge\nimport (\n\"net/http\"\n_ \"example.com/weir/contract/porttest\"\n)\nvar _ = http.StatusTooManyRequests",
		"web/edge/testdata/bad.go": "package nothing\nimport _ \"example.org/anything\"",
		"web/model/model.go":       "package model\nimport _ \"example.com/weir/contract/porttest\"",
		"boot/go.mod":              "",
		"boot/main.go":             "package main\nimport _ \"example.com/weir/web/edge\"",
		"tools/go.mod":             "",
	}
	tree := make(fstest.MapFS, len(files))
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// Ensure that each kind of rule catches a violation planted for it, and only
// that one.
func TestArchitectureCatchesPlantedViolations(t *testing.T) {
	tests := []struct {
		name string
		file string
		text string // empty: the file is removed
		want string // the one fault; empty for none
	}{
		{"nothing planted", "web/edge/more.go", "package edge", ""},
		{"an adapter imports the bootstrap", "web/edge/bad.go",
			"package edge\nimport _ \"example.com/weir/boot\"",
			"web/edge/bad.go imports example.com/weir/boot, for which no permission"},
		{"the contract imports an adapter, in a test", "contract/bad_test.go",
			"package contract\nimport _ \"example.com/weir/web/edge\"",
			"contract/bad_test.go imports example.com/weir/web/edge, for which no permission"},
		{"the contract imports a library", "contract/bad.go",
			"package contract\nimport _ \"example.org/uuid\"",
			"contract/bad.go imports example.org/uuid, for which no permission"},
		{"a library is used outside its package", "web/edge/bad.go",
			"package edge\nimport _ \"example.org/fields\"",
			"web/edge/bad.go imports example.org/fields, for which no permission"},
		{"a library with a like name", "web/answer/bad.go",
			"package answer\nimport _ \"example.org/fieldsplus\"",
			"web/answer/bad.go imports example.org/fieldsplus, for which no permission"},
		{"a test library is used in production", "web/edge/bad.go",
			"package edge\nimport _ \"example.org/assert\"",
			"web/edge/bad.go imports example.org/assert, for which no permission"},
		{"a reserved package is imported elsewhere", "web/answer/bad.go",
			"package answer\nimport _ \"example.com/weir/web/local\"",
			"web/answer/bad.go imports example.com/weir/web/local, which is reserved"},
		{"a forbidden standard package", "contract/bad.go",
			"package contract\nimport _ \"net/http/httptest\"",
			"contract/bad.go imports net/http/httptest, which is forbidden"},
		{"a status code outside its package", "web/edge/bad.go",
			"package edge\nimport h \"net/http\"\nvar _ = h.StatusTooManyRequests",
			"web/edge/bad.go uses StatusTooManyRequests"},
		{"a status code as a number", "web/edge/bad.go",
			"package edge\nvar _ = 429",
			"web/edge/bad.go uses 429"},
		{"test support in production", "web/edge/bad.go",
			"package edge\nimport _ \"example.com/weir/contract/porttest\"",
			"web/edge/bad.go imports example.com/weir/contract/porttest, which is for tests"},
		{"a model in production", "boot/bad.go",
			"package main\nimport _ \"example.com/weir/web/model\"",
			"boot/bad.go imports example.com/weir/web/model, which is for tests"},
		{"a module nobody has heard of", "queue/go.mod", "module example.com/weir/queue",
			"module queue has no row"},
		{"a file that does not parse", "web/edge/bad.go", "pakage edge", "web/edge/bad.go:1:1"},
		{"a permission that is used no more", "boot/main.go", "",
			"permission of boot to import example.com/weir/web applies to nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := plantedTree()
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			if test.text == "" {
				delete(tree, test.file)
			}
			expectFault(t, plantedRules.check(tree), test.want)
		})
	}
}

// Ensure that a rule which applies to nothing is caught, of every kind.
func TestArchitectureCatchesIdleRules(t *testing.T) {
	tests := []struct {
		name string
		add  func(*rules)
		want string
	}{
		{"module", func(r *rules) { r.modules = append(r.modules, module{"queue", "queues"}) },
			"row of module queue (queues) applies to nothing"},
		{"permission", func(r *rules) {
			r.permissions = append(r.permissions, permission{"web", "example.org/unused", everywhere, ""})
		}, "permission of web to import example.org/unused applies to nothing"},
		{"permission of tests that only production needs", func(r *rules) {
			r.permissions = append(r.permissions, permission{"boot", "example.com/weir/web", testsOnly, ""})
		}, "permission of boot to import example.com/weir/web applies to nothing"},
		{"reservation", func(r *rules) {
			r.reservations = append(r.reservations, reservation{"example.com/weir/web/edge", []string{"boot", "web/answer"}, ""})
		}, "reservation of example.com/weir/web/edge for web/answer applies to nothing"},
		{"prohibition", func(r *rules) {
			r.prohibitions = append(r.prohibitions, prohibition{"queue", "net", ""})
		}, "prohibition of net in queue applies to nothing"},
		{"prohibition of a mistyped standard package", func(r *rules) {
			r.prohibitions = append(r.prohibitions, prohibition{"contract", "encoding/jsn", ""})
		}, "prohibition of encoding/jsn in contract names no package"},
		{"prohibition of a mistyped library", func(r *rules) {
			r.prohibitions = append(r.prohibitions, prohibition{"contract", "example.org/asert", ""})
		}, "prohibition of example.org/asert in contract names no package"},
		{"prohibition of a mistyped package of the house", func(r *rules) {
			r.prohibitions = append(r.prohibitions, prohibition{"contract", "example.com/weir/web/egde", ""})
		}, "prohibition of example.com/weir/web/egde in contract names no package"},
		{"vocabulary", func(r *rules) {
			r.vocabularies = append(r.vocabularies, vocabulary{module: "web", holder: "web/answer", names: []string{"StatusTeapot"}})
		}, "vocabulary word StatusTeapot of web/answer applies to nothing"},
		{"test support", func(r *rules) { r.testSupport = append(r.testSupport, testSupport{"web/fakes", ""}) },
			"test support web/fakes applies to nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			planted := plantedRules
			test.add(&planted)
			expectFault(t, planted.check(plantedTree()), test.want)
		})
	}
}

// Ensure that the rules of this tree catch what they were written against: each
// violation is planted into the real tree.
func TestTheHouseCatchesPlantedViolations(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"the web adapter imports the Redis client", "adapter-inbound-web/edge/planted.go",
			"package edge\nimport _ \"github.com/redis/go-redis/v9\"", "no permission"},
		{"the web adapter imports the Redis adapter", "adapter-inbound-web/edge/planted.go",
			"package edge\nimport _ \"example.com/weir/adapter-outbound-cache-redis/redislimit\"", "no permission"},
		{"the Redis adapter imports the web adapter", "adapter-outbound-cache-redis/redislimit/planted.go",
			"package redislimit\nimport _ \"example.com/weir/adapter-inbound-web/subject\"", "no permission"},
		{"the bootstrap imports the programs", "app-bootstrap/bootstrap/planted.go",
			"package bootstrap\nimport _ \"example.com/weir/lua\"", "no permission"},
		{"the bootstrap imports the Redis client", "app-bootstrap/bootstrap/planted.go",
			"package bootstrap\nimport _ \"github.com/redis/go-redis/v9\"", "no permission"},
		{"an adapter imports fx", "adapter-inbound-web/management/planted.go",
			"package management\nimport _ \"go.uber.org/fx\"", "no permission"},
		{"an adapter imports the telemetry SDK", "adapter-outbound-cache-redis/redislimit/planted.go",
			"package redislimit\nimport _ \"go.opentelemetry.io/otel/sdk/metric\"", "no permission"},
		{"the contract imports a library", "shared-contract/ratelimit/planted.go",
			"package ratelimit\nimport _ \"golang.org/x/time/rate\"", "no permission"},
		{"the contract speaks HTTP", "shared-contract/ratelimit/planted.go",
			"package ratelimit\nimport _ \"net/http\"", "forbidden"},
		{"the programs' module imports the contract", "lua/planted.go",
			"package lua\nimport _ \"example.com/weir/shared-contract/ratelimit\"", "no permission"},
		{"the decision API uses the local limiter", "adapter-inbound-web/evaluation/planted.go",
			"package evaluation\nimport _ \"example.com/weir/adapter-inbound-web/locallimit\"", "reserved"},
		{"the middleware chooses a status", "adapter-inbound-web/edge/planted.go",
			"package edge\nimport \"net/http\"\nvar _ = http.StatusTooManyRequests", "uses StatusTooManyRequests"},
		{"production uses a double", "app-bootstrap/bootstrap/planted.go",
			"package bootstrap\nimport _ \"example.com/weir/shared-contract/ratelimittest\"", "for tests"},
	}
	house := sourcesOfTheHouse(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := maps.Clone(house)
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			for _, fault := range architecture.check(tree) {
				if strings.HasPrefix(fault, test.file) && strings.Contains(fault, test.want) {
					return
				}
			}
			t.Errorf("no fault of %s says %q", test.file, test.want)
		})
	}
}

// Ensure that every prohibition of this tree catches the import that it forbids.
func TestEveryProhibitionCatchesAPlantedViolation(t *testing.T) {
	house := sourcesOfTheHouse(t)
	for _, rule := range architecture.prohibitions {
		t.Run(rule.from+" imports "+rule.to, func(t *testing.T) {
			tree := maps.Clone(house)
			file := rule.from + "/planted.go"
			tree[file] = &fstest.MapFile{Data: fmt.Appendf(nil, "package planted\nimport _ %q", rule.to)}
			want := fmt.Sprintf("%s imports %s, which is forbidden: %s", file, rule.to, rule.because)
			if faults := architecture.check(tree); !slices.Contains(faults, want) {
				t.Errorf("faults %q, want one to be %q", faults, want)
			}
		})
	}
}

// expectFault fails unless want stands in the only fault, or there is neither.
func expectFault(t *testing.T, faults []string, want string) {
	t.Helper()
	if want == "" && len(faults) == 0 {
		return
	}
	if len(faults) != 1 || want == "" || !strings.Contains(faults[0], want) {
		t.Errorf("faults %q, want one with %q", faults, want)
	}
}

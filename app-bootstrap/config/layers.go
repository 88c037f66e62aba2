package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	yamlnode "go.yaml.in/yaml/v3"
)

const delimiter = "."

// MaxFileBytes bounds the configuration file.
const MaxFileBytes = 1 << 20

// environmentPrefixes open the variables that Weir reads. Others that begin
// with APP_, such as APP_ENV, belong to somebody else.
func environmentPrefixes() []string {
	return []string{"APP_WEB__", "APP_RATE_LIMIT__", "APP_CACHE__", "APP_BUDGETS__", "APP_TELEMETRY__"}
}

// layers is what the operator wrote, merged.
type layers struct {
	merged *koanf.Koanf
	// origins names, for keys that did not come from the file, where to look.
	origins map[string]string
}

func readLayers(sources Sources, faults *collector) layers {
	l := layers{merged: koanf.New(delimiter), origins: make(map[string]string)}
	l.add(readFile(sources, faults), "", faults)

	environment := readEnvironment(sources.Environ, l.origins)
	refuseUnmergeable(environment, faults)
	l.add(environment, delimiter, faults)

	set := readSet(sources.Set, l.origins, faults)
	refuseUnmergeable(set, faults)
	l.add(set, delimiter, faults)
	return l
}

func (l layers) add(tree map[string]any, separator string, faults *collector) {
	if err := l.merged.Load(confmap.Provider(tree, separator), nil); err != nil {
		faults.add("app", "cannot be merged")
	}
}

func readFile(sources Sources, faults *collector) map[string]any {
	if sources.File == "" {
		return nil
	}
	text, err := sources.read(sources.File, MaxFileBytes)
	if err != nil {
		faults.add("--config", "cannot read %s: %v", sources.File, err)
		return nil
	}
	if problem := documentProblem(text); problem != "" {
		faults.add("--config", "%s %s", sources.File, problem)
		return nil
	}
	parsed := koanf.New(delimiter)
	if err := parsed.Load(rawbytes.Provider(text), yaml.Parser()); err != nil {
		faults.add("--config", "%s %s", sources.File, yamlProblem(err))
		return nil
	}
	tree := parsed.Raw()
	refuseNulls("", tree, faults)
	return tree
}

// documentProblem says why text is not one YAML mapping. The parser would read
// the first of several documents and drop the others in silence.
func documentProblem(text []byte) string {
	decoder := yamlnode.NewDecoder(bytes.NewReader(text))
	var root yamlnode.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return ""
	case err != nil:
		return yamlProblem(err)
	}
	if content := root.Content[0]; content.Kind != yamlnode.MappingNode && content.Tag != "!!null" {
		return "must be a YAML mapping that begins with app:"
	}
	if err := decoder.Decode(new(yamlnode.Node)); !errors.Is(err, io.EOF) {
		return "holds more than one YAML document, must hold one"
	}
	return ""
}

var (
	yamlLine      = regexp.MustCompile(`line \d+`)
	yamlDuplicate = regexp.MustCompile(`line \d+: mapping key "[A-Za-z0-9.-]+" already defined at line \d+`)
	yamlQuotes    = regexp.MustCompile("[\"'`]")
)

// yamlProblem passes on what the parser says as long as it quotes nothing: what
// it quotes may be a secret.
func yamlProblem(err error) string {
	text := err.Error()
	if duplicates := yamlDuplicate.FindAllString(text, -1); duplicates != nil {
		return "is not valid YAML: " + strings.Join(duplicates, "; ")
	}
	if !yamlQuotes.MatchString(text) {
		return "is not valid YAML: " + strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
	}
	if lines := yamlLine.FindAllString(text, -1); lines != nil {
		return "is not valid YAML at " + strings.Join(lines, ", ")
	}
	return "is not valid YAML"
}

// readEnvironment maps APP_RATE_LIMIT__REDIS__POOL_SIZE to
// app.rate-limit.redis.pool-size.
func readEnvironment(environ []string, origins map[string]string) map[string]any {
	values := make(map[string]any)
	for _, entry := range environ {
		variable, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(variable, "APP_")
		if !ours || !slices.ContainsFunc(environmentPrefixes(), func(prefix string) bool {
			return strings.HasPrefix(variable, prefix)
		}) {
			continue
		}
		path := strings.ReplaceAll(strings.ToLower(rest), "__", delimiter)
		key := join("app", strings.ReplaceAll(path, "_", "-"))
		values[key] = value
		origins[key] = variable
	}
	return values
}

func readSet(pairs []string, origins map[string]string, faults *collector) map[string]any {
	values := make(map[string]any)
	for i, pair := range pairs {
		key, value, paired := strings.Cut(pair, "=")
		if !paired || key == "" {
			faults.add("--set", "number %d must be key=value", i+1)
			continue
		}
		values[key] = value
		origins[key] = "--set"
	}
	return values
}

// refuseUnmergeable reports, and removes, keys that would be merged into
// something else than they say: those with an empty part, and those that are
// given both as a value and as a section.
func refuseUnmergeable(values map[string]any, faults *collector) {
	for key := range values {
		if slices.Contains(strings.Split(key, delimiter), "") {
			faults.add(key, "is not a known key")
			delete(values, key)
		}
	}
	for key := range values {
		for other := range values {
			if strings.HasPrefix(other, key+delimiter) {
				faults.add(key, "is given a value, and so is %s inside it", other)
				delete(values, key)
			}
		}
	}
}

// originOf finds where key, or the first of the keys under it, was given; empty
// for the file.
func (l layers) originOf(key string) string {
	if origin := l.origins[key]; origin != "" {
		return origin
	}
	first := ""
	for given, origin := range l.origins {
		if strings.HasPrefix(given, key+delimiter) && (first == "" || origin < first) {
			first = origin
		}
	}
	return first
}

// readProblem says why a file cannot be read without naming the file: a secret
// may stand where its path belongs.
func readProblem(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

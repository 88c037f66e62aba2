package config

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

const delimiter = "."

// MaxFileBytes bounds the configuration file.
const MaxFileBytes = 1 << 20

// environmentPrefixes open the variables that Weir reads. Others that begin
// with APP_, such as APP_ENV, belong to somebody else.
func environmentPrefixes() []string {
	return []string{"APP_WEB__", "APP_RATE_LIMIT__", "APP_CACHE__", "APP_BUDGETS__", "APP_TELEMETRY__"}
}

// given is what the operator wrote, merged.
type given struct {
	merged *koanf.Koanf
	// origins names, for keys that did not come from the file, where to look.
	origins map[string]string
}

func readGiven(sources Sources, faults *collector) given {
	g := given{merged: koanf.New(delimiter), origins: make(map[string]string)}
	g.add(readFile(sources, faults), "", faults)

	environment := readEnvironment(sources.Environ, g.origins)
	refuseUnmergeable(environment, faults)
	g.add(environment, delimiter, faults)

	set := readSet(sources.Set, g.origins, faults)
	refuseUnmergeable(set, faults)
	g.add(set, delimiter, faults)
	return g
}

func (g given) add(tree map[string]any, separator string, faults *collector) {
	if err := g.merged.Load(confmap.Provider(tree, separator), nil); err != nil {
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
	tree, problem := readYAML(text)
	if problem != "" {
		faults.add("--config", "%s %s", sources.File, problem)
		return nil
	}
	refuseNulls("", tree, faults)
	return tree
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
func (g given) originOf(key string) string {
	if origin := g.origins[key]; origin != "" {
		return origin
	}
	first := ""
	for other, origin := range g.origins {
		if strings.HasPrefix(other, key+delimiter) && (first == "" || origin < first) {
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

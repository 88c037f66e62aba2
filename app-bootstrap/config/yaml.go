package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/knadh/koanf/maps"
	"go.yaml.in/yaml/v3"
)

// readYAML reads the one mapping of text, or says why there is none. It goes by
// way of the nodes, because a plain decoder reads the first of several documents
// and drops the others in silence, and does not tell how a number was written.
func readYAML(text []byte) (tree map[string]any, problem string) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, ""
	case err != nil:
		return nil, yamlProblem(err)
	}
	if content := root.Content[0]; content.Kind != yaml.MappingNode && content.Tag != "!!null" {
		return nil, "must be a YAML mapping that begins with app:"
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, "holds more than one YAML document, must hold one"
	}
	disownIntegers(&root)
	if err := root.Decode(&tree); err != nil {
		return nil, yamlProblem(err)
	}
	maps.IntfaceKeysToStrings(tree)
	return tree, ""
}

// disownIntegers makes floats of the integers under node that are not written in
// decimal digits. No key takes a float, so whoever is given one refuses it.
func disownIntegers(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!int" && !integerForm.MatchString(node.Value) && isInt64(node.Value) {
		node.Tag = "!!float"
	}
	for _, child := range node.Content {
		disownIntegers(child)
	}
}

// isInt64 is false for what is out of range, and is refused for that.
func isInt64(text string) bool {
	_, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	return !errors.Is(err, strconv.ErrRange)
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

package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// decode fills a document of defaults with what was given. A value that
// cannot be decoded is a fault and counts as not written; so the rest of its
// section is still read, and checked.
func (g given) decode(faults *collector) document {
	tree := g.merged.Raw()
	g.refuseUnknown("", tree, faults)
	result, problems := decodeTree(tree)
	if len(problems) == 0 {
		return result
	}
	for _, problem := range problems {
		key, text := keyOf(problem), textOf(problem)
		if text == wantSmaller || text == wantLarger {
			faults.addOutOfRange(key, text)
		} else {
			faults.add(key, "%s", text)
		}
		erase(tree, key, text.replacement())
	}
	result, _ = decodeTree(tree)
	return result
}

func decodeTree(tree map[string]any) (document, []*mapstructure.DecodeError) {
	result := defaults()
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:     &result,
		TagName:    "koanf",
		MatchName:  func(key, field string) bool { return key == field },
		DecodeHook: mapstructure.DecodeHookFuncType(strictly),
	})
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // of the settings above, not of the tree
	}
	return result, decodeErrors(decoder.Decode(tree))
}

// decodeErrors takes err apart into the errors of single values.
func decodeErrors(err error) []*mapstructure.DecodeError {
	switch err := err.(type) { //nolint:errorlint // err is taken apart, level by level
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		var all []*mapstructure.DecodeError
		for _, one := range err.Unwrap() {
			all = append(all, decodeErrors(one)...)
		}
		return all
	case *mapstructure.DecodeError:
		if inner := decodeErrors(err.Unwrap()); inner != nil {
			return inner
		}
		return []*mapstructure.DecodeError{err}
	default:
		return decodeErrors(errors.Unwrap(err))
	}
}

var mapElement = regexp.MustCompile(`\[([^\]]*[^\]0-9][^\]]*)\]`)

// keyOf turns the decoder's policies[edge].limit into policies.edge.limit. List
// items keep their brackets.
func keyOf(problem *mapstructure.DecodeError) string {
	return mapElement.ReplaceAllString(problem.Name(), delimiter+"$1")
}

func textOf(problem *mapstructure.DecodeError) typeProblem {
	var text typeProblem
	if errors.As(problem, &text) {
		return text
	}
	// The decoder's own words speak of Go types.
	return "has the wrong type"
}

// typeProblem is a refusal of strictly.
type typeProblem string

func (p typeProblem) Error() string { return string(p) }

// replacement is what stands in for a refused value; nil for nothing.
func (p typeProblem) replacement() any {
	switch p {
	case wantSmaller:
		return math.MaxInt64
	case wantLarger:
		return math.MinInt64
	case wantSection:
		return map[string]any{}
	case wantText:
		return ""
	default:
		return nil
	}
}

const (
	wantDuration = typeProblem("must be a duration with a unit, such as 250ms, 10s or 1m30s")
	wantInteger  = typeProblem("must be a whole number in decimal digits, such as 100")
	wantSmaller  = typeProblem("is above the range of whole numbers")
	wantLarger   = typeProblem("is below the range of whole numbers")
	wantBoolean  = typeProblem("must be true or false")
	wantText     = typeProblem("must be text; put it in quotes")
	wantList     = typeProblem("must be a list")
	wantEntries  = typeProblem("must be a list of entries, which only the file can hold")
	wantSection  = typeProblem("must be a section with keys of its own")
)

// strictly converts only what loses nothing. The environment and --set give
// text, so numbers, booleans, durations and comma-separated lists are read from
// text too; a YAML value must have the type that its key asks for.
func strictly(_, to reflect.Type, data any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() {
		return strictDuration(data)
	}
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		return strictInteger(data)
	case reflect.Bool:
		return strictBoolean(data)
	case reflect.String:
		if _, ok := data.(string); !ok {
			return nil, wantText
		}
	case reflect.Slice:
		return strictList(data, to.Elem().Kind() == reflect.String)
	case reflect.Struct, reflect.Map:
		if kind := reflect.ValueOf(data).Kind(); kind != reflect.Map && kind != reflect.Struct {
			return nil, wantSection
		}
	}
	return data, nil
}

func strictDuration(data any) (any, error) {
	if duration, ok := data.(time.Duration); ok {
		return duration, nil
	}
	text, ok := data.(string)
	if !ok || !endsInUnit(text) {
		return nil, wantDuration
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return nil, wantDuration
	}
	return duration, nil
}

// endsInUnit is false for the "0" that time.ParseDuration lets pass.
func endsInUnit(text string) bool {
	return text != "" && strings.TrimRight(text, "0123456789") == text
}

func strictInteger(data any) (any, error) {
	switch value := data.(type) {
	case int, int64:
		return value, nil
	case uint64:
		return nil, wantSmaller
	case float64:
		return nil, floatProblem(value)
	case string:
		return integerOf(value)
	}
	return nil, wantInteger
}

// floatProblem: digits that no uint64 can hold are a float to YAML.
func floatProblem(value float64) typeProblem {
	switch {
	case value >= 1<<64:
		return wantSmaller
	case value < math.MinInt64:
		return wantLarger
	default:
		return wantInteger
	}
}

// integerForm is how integers are written in every source. Other forms mean
// different numbers to different readers: 0100 is 64 to YAML 1.1 and 100 to
// most people.
var integerForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func integerOf(text string) (any, error) {
	if !integerForm.MatchString(text) {
		return nil, wantInteger
	}
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil:
		return number, nil
	case strings.HasPrefix(text, "-"):
		return nil, wantLarger
	default:
		return nil, wantSmaller
	}
}

func strictBoolean(data any) (any, error) {
	switch data {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return nil, wantBoolean
}

func strictList(data any, ofText bool) (any, error) {
	text, isText := data.(string)
	switch {
	case !isText:
		if reflect.ValueOf(data).Kind() != reflect.Slice {
			return nil, wantList
		}
		return data, nil
	case !ofText:
		return nil, wantEntries
	case strings.TrimSpace(text) == "":
		return []string{}, nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items, nil
}

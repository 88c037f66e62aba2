package programmodel_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fill is a line of the manifest's form.
func fill(form string, values map[string]string) string {
	for name, value := range values {
		form = strings.Replace(form, "<"+name+">", value, 1)
	}
	return form
}

// stateField is the field of the hash that holds the line of the state.
const stateField = "s"

// word is what the word of the state at a place is called when it stands alone.
// The first, at 0, is the identity.
func word(place int) string { return stateField + " " + strconv.Itoa(place) }

// split is a hash with the words of the state in place of the line.
func split(hash map[string]string) map[string]string {
	line, stored := hash[stateField]
	if !stored {
		return hash
	}
	parts := maps.Clone(hash)
	delete(parts, stateField)
	for place, text := range strings.Split(line, " ") {
		parts[word(place)] = text
	}
	return parts
}

// join is the hash that was split.
func join(parts map[string]string) map[string]string {
	hash := make(map[string]string)
	var words []string
	for _, name := range slices.SortedFunc(maps.Keys(parts), byPlace) {
		if strings.HasPrefix(name, stateField+" ") {
			words = append(words, parts[name])
		} else {
			hash[name] = parts[name]
		}
	}
	if words != nil {
		hash[stateField] = strings.Join(words, " ")
	}
	return hash
}

func byPlace(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

package config

import (
	"fmt"
	"strconv"
	"strings"
)

// refuseNulls reports keys without a value: "redis:" with nothing under it would
// otherwise silently stand for a section of defaults. Keys that contain the
// delimiter are reported, and removed, for another source could not address them.
func refuseNulls(parent string, section map[string]any, faults *collector) {
	for name, value := range section {
		key := join(parent, name)
		if strings.Contains(name, delimiter) {
			faults.add(key, "is written with dots in one key, must be nested")
			delete(section, name)
			continue
		}
		refuseNullValue(key, value, faults)
	}
}

func refuseNullValue(key string, value any, faults *collector) {
	switch value := value.(type) {
	case nil:
		faults.add(key, "has no value")
	case map[string]any:
		refuseNulls(key, value, faults)
	case []any:
		for i, item := range value {
			refuseNullValue(itemKey(key, i), item, faults)
		}
	}
}

// refuseUnknown reports the keys that no document has.
func (g given) refuseUnknown(parent string, section map[string]any, faults *collector) {
	for name, value := range section {
		key := join(parent, name)
		if !isKnown(key) {
			g.addUnknown(key, faults)
			continue
		}
		g.refuseUnknownUnder(key, value, faults)
	}
}

func (g given) refuseUnknownUnder(key string, value any, faults *collector) {
	switch value := value.(type) {
	case map[string]any:
		g.refuseUnknown(key, value, faults)
	case []any:
		for i, item := range value {
			g.refuseUnknownUnder(itemKey(key, i), item, faults)
		}
	}
}

func (g given) addUnknown(key string, faults *collector) {
	problem := "is not a known key"
	if known, found := nearestKey(key); found {
		problem += ", did you mean " + known + "?"
	}
	if origin := g.originOf(key); origin != "" {
		problem += " (from " + origin + ")"
	}
	faults.add(key, "%s", problem)
}

// erase takes the value at key out of tree. A section is replaced by an empty
// one, so that it still exists, and a number by the replacement; an item of a
// list is replaced in any case, so that the others keep their indexes.
func erase(tree map[string]any, key string, replacement any) {
	var holder any = tree
	parts := splitPath(key)
	for _, part := range parts[:len(parts)-1] {
		holder = child(holder, part)
	}
	last := parts[len(parts)-1]
	switch holder := holder.(type) {
	case map[string]any:
		delete(holder, last)
		switch replacement.(type) {
		case map[string]any, int:
			holder[last] = replacement
		}
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(holder) {
			holder[i] = replacement
		}
	}
}

func child(holder any, part string) any {
	switch holder := holder.(type) {
	case map[string]any:
		return holder[part]
	case []any:
		if i, err := strconv.Atoi(part); err == nil && i < len(holder) {
			return holder[i]
		}
	}
	return nil
}

// splitPath cuts app.web.routes[2].pattern into app, web, routes, 2, pattern.
func splitPath(key string) []string {
	return strings.FieldsFunc(key, func(char rune) bool { return strings.ContainsRune(".[]", char) })
}

func itemKey(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + delimiter + name
}

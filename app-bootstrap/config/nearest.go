package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// anyName stands for the name that an operator gives to an element of a map.
const anyName = "*"

var listIndex = regexp.MustCompile(`\[\d+\]`)

// isKnown reports whether a document has key.
func isKnown(key string) bool {
	return slices.ContainsFunc(knownKeys(), func(known string) bool { return sameKey(known, key) })
}

// nearestKey suggests what the author of an unknown key may have meant: a
// sibling with almost the same name, else the one key elsewhere that has
// exactly this name.
func nearestKey(unknown string) (string, bool) {
	parent, name := splitKey(unknown)
	best, distance := "", max(2, len(name)/4)+1
	var elsewhere []string
	for _, known := range knownKeys() {
		knownParent, knownName := splitKey(known)
		if !sameKey(knownParent, parent) {
			if knownName == name && !strings.ContainsAny(known, anyName+"[") {
				elsewhere = append(elsewhere, known)
			}
			continue
		}
		if knownName == anyName {
			continue
		}
		if d := levenshtein.ComputeDistance(name, knownName); d < distance {
			best, distance = join(parent, knownName), d
		}
	}
	if best == "" && len(elsewhere) == 1 {
		return elsewhere[0], true
	}
	return best, best != ""
}

func splitKey(key string) (parent, name string) {
	at := strings.LastIndex(key, delimiter)
	if at < 0 {
		return "", key
	}
	return key[:at], key[at+1:]
}

// sameKey reports whether key is an instance of known, where known may hold
// names and indexes that the operator chooses.
func sameKey(known, key string) bool {
	knownParts := strings.Split(known, delimiter)
	parts := strings.Split(listIndex.ReplaceAllString(key, "[]"), delimiter)
	if len(knownParts) != len(parts) {
		return false
	}
	for i, part := range knownParts {
		if part != anyName && part != parts[i] {
			return false
		}
	}
	return true
}

// knownKeys lists the keys of a document, sections included, in the order of
// its declaration.
func knownKeys() []string {
	var keys []string
	var walk func(parent string, of reflect.Type)
	walk = func(parent string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Map:
			key := join(parent, anyName)
			keys = append(keys, key)
			walk(key, of.Elem())
		case reflect.Slice:
			walk(parent+"[]", of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				key := join(parent, field.Tag.Get("koanf"))
				keys = append(keys, key)
				walk(key, field.Type)
			}
		}
	}
	walk("", reflect.TypeFor[document]())
	return keys
}

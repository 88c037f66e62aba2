package edge

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// pattern is a net/http pattern in the form that requests are looked up in: the
// method in upper case and the host in lower case.
type pattern string

func newPattern(text string) pattern {
	method, rest, found := strings.Cut(text, " ")
	if !found {
		method, rest = "", text
	}
	host, path, rooted := strings.Cut(rest, "/")
	if !rooted {
		return pattern(text) // ServeMux says what is wrong with it
	}
	rest = strings.ToLower(host) + "/" + path
	if !found {
		return pattern(rest)
	}
	return pattern(strings.ToUpper(method) + " " + rest)
}

// path is the pattern's path. The pattern must be one that register accepted.
func (p pattern) path() string { return string(p[strings.IndexByte(string(p), '/'):]) }

func (p pattern) namesHost() bool {
	before, _, _ := strings.Cut(string(p), "/")
	return before != "" && !strings.HasSuffix(before, " ")
}

// depth counts the slashes of the pattern's path.
func (p pattern) depth() int { return strings.Count(p.path(), "/") }

// isOpen reports whether the pattern matches paths that end with a slash.
func (p pattern) isOpen() bool {
	return strings.HasSuffix(string(p), "/") || strings.HasSuffix(string(p), "/{$}") || strings.HasSuffix(string(p), "...}")
}

// register adds entry to mux, which panics on a pattern that it cannot read or
// that conflicts with another. The error is that panic.
func register(mux *http.ServeMux, p pattern, entry *route) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = patternError(fault)
		}
	}()
	mux.Handle(string(p), entry)
	return nil
}

// patternError leaves out where in this package the patterns were registered,
// which tells an operator nothing.
func patternError(fault any) error {
	position := regexp.MustCompile(` \(registered at [^)]*\)`)
	text := position.ReplaceAllString(fmt.Sprint(fault), "")
	return errors.New(strings.Join(strings.Fields(text), " "))
}

package edge

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// pattern is a net/http pattern in the form that requests are looked up in: the
// method in upper case and the host as canonicalHost writes it.
type pattern string

// newPattern refuses what ServeMux would take and no request could match.
func newPattern(text string) (pattern, error) {
	if text == "" {
		return "", errors.New("must be given, such as POST /quotes")
	}
	method, rest := "", text
	if i := strings.IndexAny(text, separators); i >= 0 {
		method, rest = strings.ToUpper(text[:i])+" ", strings.TrimLeft(text[i:], separators)
	}
	host, path, rooted := strings.Cut(rest, "/")
	if !rooted {
		return pattern(text), nil // ServeMux says what is wrong with it
	}
	path = "/" + path
	switch {
	case namesPort(host):
		return "", errors.New("must name its host without a port, since hosts are compared without theirs")
	case clean(path) != path:
		return "", errors.New("must have a path without //, . and .., since paths are cleaned before they are compared")
	}
	return pattern(method + canonicalHost(host) + path), nil
}

// separators stand between the method and the rest, one or more of them.
const separators = " \t"

func namesPort(host string) bool {
	isIPv6 := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
	return strings.Contains(host, ":") && !isIPv6
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

package subject

import (
	"net/netip"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// cutLastElement splits off the last element of a Forwarded list; more tells
// whether any is left. It reads from the right, so that a quote which a client
// left open does not reach into what a proxy appended to it.
func cutLastElement(list string) (rest, last string, more bool) {
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i] {
		case ',':
			return list[:i], list[i+1:], true
		case '"':
			if i = openingQuote(list, i); i < 0 {
				return "", list, false
			}
		}
	}
	return "", list, false
}

// openingQuote is the place of the quote that the one at closing answers; -1 for
// none. No backslash stands before it, since an equals sign must, and one before
// every quote within.
func openingQuote(text string, closing int) int {
	for i := closing - 1; i >= 0; i-- {
		if text[i] == '"' && (i == 0 || text[i-1] != '\\') {
			return i
		}
	}
	return -1
}

// parseElement reads the parameter for of one element,
// for=192.0.2.60;proto=http;by=203.0.113.43. An element without exactly one, or
// one that cannot be read to its end, names nobody. Values may hold what needs
// quotes without having them, such as a colon, as some proxies write them.
func parseElement(element string) (netip.Addr, bool) {
	var node string
	found := false
	for rest := trimPairs(element); rest != ""; rest = trimPairs(rest) {
		var name, value string
		var ok bool
		if name, value, rest, ok = cutPair(rest); !ok {
			return netip.Addr{}, false
		}
		if !strings.EqualFold(name, "for") {
			continue
		}
		if found {
			return netip.Addr{}, false
		}
		node, found = value, true
	}
	if !found {
		return netip.Addr{}, false
	}
	return parseNode(node)
}

// trimPairs takes away what may stand before a pair: spaces and empty pairs.
func trimPairs(text string) string { return strings.TrimLeft(text, whitespace+";") }

// cutPair splits off a pair of name and value, which ends where the element ends
// or a semicolon follows.
func cutPair(text string) (name, value, rest string, ok bool) {
	name, rest, ok = strings.Cut(text, "=")
	if !ok || !httpguts.ValidHeaderFieldName(name) {
		return "", "", "", false
	}
	if value, rest, ok = cutValue(rest); !ok {
		return "", "", "", false
	}
	rest = strings.TrimLeft(rest, whitespace)
	return name, value, rest, rest == "" || rest[0] == ';'
}

// cutValue splits off a value, which is a quoted string or ends where a
// delimiter stands, and takes its quotes off.
func cutValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " \t\";")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return unescape(text[1:i]), text[i+1:], true
		}
	}
	return "", "", false
}

// unescape takes the backslashes of quoted pairs away.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

// parseNode reads an address with or without a port, which may be obfuscated.
// Unlike in X-Forwarded-For an IPv6 address has brackets. Nodes that are
// "unknown" or obfuscated name nobody.
func parseNode(node string) (netip.Addr, bool) {
	if i := strings.LastIndex(node, ":_"); i >= 0 && len(node) > i+len(":_") {
		node = node[:i]
	}
	if strings.Count(node, ":") > 1 && !strings.HasPrefix(node, "[") {
		return netip.Addr{}, false
	}
	return parseHop(node)
}

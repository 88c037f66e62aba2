package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"example.com/weir/adapter-inbound-web/edge"
)

// forwardTarget makes target that of in: the path cleaned, and the query
// untouched, even where a parser of queries would stumble. Weir reads no query,
// so there is nothing that the application could read differently.
func forwardTarget(target *url.URL, in *http.Request) {
	*target = url.URL{
		RawQuery:   strings.ReplaceAll(in.URL.RawQuery, " ", "%20"),
		ForceQuery: in.URL.ForceQuery,
	}
	if in.Method == http.MethodOptions && in.URL.Path == "*" {
		target.Path = "*"
		return
	}
	escaped := escapeInvalid(edge.ForwardedPath(in.URL))
	target.RawPath = escaped
	target.Path, _ = url.PathUnescape(escaped) // escaped is valid
}

// escapeInvalid escapes the bytes of a path that may not stand in one, such as
// a space, which would end a request line. What is escaped already stays.
func escapeInvalid(path string) string {
	const digits = "0123456789ABCDEF"
	var text strings.Builder
	for i := range len(path) {
		c := path[i]
		if isPathByte(c) || c == '%' && isEscape(path[i:]) {
			text.WriteByte(c)
			continue
		}
		text.WriteByte('%')
		text.WriteByte(digits[c>>4])
		text.WriteByte(digits[c&15])
	}
	return text.String()
}

// isPathByte accepts what RFC 3986 does, and brackets, as package url does.
func isPathByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	default:
		return strings.IndexByte("-._~!$&'()*+,;=:@/[]", c) >= 0
	}
}

func isEscape(text string) bool {
	return len(text) >= 3 && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

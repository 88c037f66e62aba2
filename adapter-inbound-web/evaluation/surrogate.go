package evaluation

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// hasLoneSurrogate reports whether literal, a valid JSON string, escapes half of
// a surrogate pair without its other half, which stands for no character.
func hasLoneSurrogate(literal []byte) bool {
	for {
		at := bytes.IndexByte(literal, '\\')
		if at < 0 {
			return false
		}
		first, ok := unicodeEscape(literal[at:])
		if !ok {
			literal = literal[at+2:]
			continue
		}
		literal = literal[at+escapeBytes:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, ok := unicodeEscape(literal)
		if !ok || utf16.DecodeRune(first, second) == '\uFFFD' {
			return true
		}
		literal = literal[escapeBytes:]
	}
}

// escapeBytes is the length of \uXXXX.
const escapeBytes = 6

func unicodeEscape(text []byte) (rune, bool) {
	if len(text) < escapeBytes || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:escapeBytes]), 16, 16)
	return rune(unit), err == nil
}

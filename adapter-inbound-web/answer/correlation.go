package answer

import (
	"crypto/rand"
	"net/http"
)

// RequestIDField is the header field of the correlation ID, in requests and in
// answers, in the canonical form of net/http. What it holds is logged and
// repeated, so it must not identify anybody.
const RequestIDField = "X-Request-Id"

const maxRequestIDBytes = 64

// CorrelationID names r in problem documents and in log lines, so that a
// client's report finds its line. It is the client's own X-Request-Id when that
// matches [A-Za-z0-9._-]{1,64}, which cannot forge anything in a log, and
// otherwise a new random one, different with each call.
func CorrelationID(r *http.Request) string {
	if id := r.Header.Get(RequestIDField); isRequestID(id) {
		return id
	}
	return rand.Text()
}

func isRequestID(id string) bool {
	if len(id) < 1 || len(id) > maxRequestIDBytes {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

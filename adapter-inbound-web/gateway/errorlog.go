package gateway

import (
	"strings"

	"example.com/weir/adapter-inbound-web/answer"
)

// errorLog takes the lines of httputil.ReverseProxy, of which an answer that
// breaks off is one.
type errorLog struct{ failures *answer.Upstream }

// Write passes one line on. It never fails.
func (l errorLog) Write(line []byte) (int, error) {
	l.failures.Broken(strings.TrimSpace(string(line)))
	return len(line), nil
}

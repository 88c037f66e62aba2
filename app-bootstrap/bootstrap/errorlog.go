package bootstrap

import (
	"log/slog"
	"regexp"
	"strings"
)

// errorLog takes the lines of net/http's servers. They name the peer, which may
// be a subject, so its address is taken out.
type errorLog struct {
	logger *slog.Logger
}

// peer is an address with a port, as net/http prints that of a connection.
var peer = regexp.MustCompile(`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(?:%[^\]]+)?\]):\d+`)

// Write logs one line. It never fails.
func (l errorLog) Write(line []byte) (int, error) {
	text := peer.ReplaceAllString(strings.TrimSpace(string(line)), "[peer]")
	l.logger.Warn("http server", "problem", text)
	return len(line), nil
}

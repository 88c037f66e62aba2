package gateway

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// quietFor is how long after a line none is logged.
const quietFor = time.Second

// errorLog takes the lines of httputil.ReverseProxy, of which an answer that
// breaks off is one, and logs at most one per second: an outage breaks many.
type errorLog struct {
	logger *slog.Logger

	mu         sync.Mutex
	quietUntil time.Time
	suppressed int64
}

// Write logs one line, or counts it. It never fails.
func (l *errorLog) Write(line []byte) (int, error) {
	if suppressed, due := l.take(); due {
		l.logger.Warn("the answer was not sent on to its end",
			"problem", strings.TrimSpace(string(line)), "suppressed", suppressed)
	}
	return len(line), nil
}

// take reports whether a line is due, and how many were suppressed before it.
func (l *errorLog) take() (suppressed int64, due bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.quietUntil) {
		l.suppressed++
		return 0, false
	}
	suppressed = l.suppressed
	l.quietUntil, l.suppressed = now.Add(quietFor), 0
	return suppressed, true
}

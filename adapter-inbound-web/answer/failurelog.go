package answer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/weir/shared-contract/failure"
)

// quietFor is how long a failure of one kind is not logged again.
const quietFor = time.Second

// failureLog logs failures without letting an outage flood the log: one line
// per kind and second. A line says how many were suppressed since the last.
type failureLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	kinds map[failureKind]*failureRecord
}

type failureKind struct {
	outcome  string
	category failure.Category
}

type failureRecord struct {
	quietUntil time.Time
	suppressed int64
}

func newFailureLog(logger *slog.Logger) *failureLog {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &failureLog{logger: logger, kinds: make(map[failureKind]*failureRecord)}
}

func (l *failureLog) report(ctx context.Context, level slog.Level, problem Problem) {
	suppressed, due := l.take(failureKind{problem.Outcome, problem.Category})
	if !due {
		return
	}
	l.logger.LogAttrs(ctx, level, "request could not be decided",
		slog.String("outcome", problem.Outcome),
		slog.String("category", string(problem.Category)),
		slog.String("policyId", problem.PolicyID),
		slog.String("correlationId", problem.CorrelationID),
		slog.Int64("suppressed", suppressed),
	)
}

// take reports whether a line of kind is due, and how many were suppressed
// before it.
func (l *failureLog) take(kind failureKind) (suppressed int64, due bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	record := l.kinds[kind]
	if record == nil {
		record = new(failureRecord)
		l.kinds[kind] = record
	}
	if now.Before(record.quietUntil) {
		record.suppressed++
		return 0, false
	}
	suppressed = record.suppressed
	*record = failureRecord{quietUntil: now.Add(quietFor)}
	return suppressed, true
}

package redislimit

import (
	"context"
	"errors"
	"strings"

	"example.com/weir/shared-contract/failure"
)

// Prepare connects, makes the programs known to the server, and runs each of
// them on a key of its own: only that shows that the server decides, that it
// takes writes, and that the user may run all commands of the programs. It then
// looks whether the server is fit: recent enough, set to evict nothing, and used
// with the same secret by all processes. An unfit server decides all the same.
//
// Its error is nil, or names the category of a failure, whose cause goes to the
// log, or says in words what makes the server unfit.
func (l *Limiter) Prepare(ctx context.Context) error {
	for _, probe := range l.probes {
		if failed := probe.run(ctx, l.executor); failed != nil {
			l.health.failed(ctx, failed)
			return errors.New(string(failed.Category))
		}
	}
	l.health.recovered(ctx)

	findings, failed := l.inspection.run(ctx)
	if failed != nil {
		return errors.New(string(failed.Category))
	}
	if failed := l.fingerprint.run(ctx, l.executor); failed != nil {
		if failed.Category != failure.State {
			return errors.New(string(failed.Category))
		}
		findings = append(findings, otherSecret)
	}
	if len(findings) > 0 {
		return errors.New(strings.Join(findings, "; "))
	}
	return nil
}

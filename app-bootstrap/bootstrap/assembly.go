package bootstrap

import (
	"log/slog"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"example.com/weir/app-bootstrap/config"
)

// assembly is every part of the App that cfg asks for.
func assembly(cfg config.Config, logger *slog.Logger, failures chan<- error) fx.Option {
	return fx.Options(
		fx.Supply(cfg, logger, failureReport(failures)),
		fx.WithLogger(newEventLog),
		limiting(cfg),
		forwarding(cfg),
		telemetry(),
		web(),
	)
}

// newEventLog tells the assembly itself at debug level. Errors too: who gets
// them logs them.
func newEventLog(logger *slog.Logger) fxevent.Logger {
	events := &fxevent.SlogLogger{Logger: logger}
	events.UseLogLevel(slog.LevelDebug)
	events.UseErrorLevel(slog.LevelDebug)
	return events
}

// failureReport takes the error of a listener that ended by itself. It never
// blocks a listener: it has room for one error of each.
type failureReport chan<- error

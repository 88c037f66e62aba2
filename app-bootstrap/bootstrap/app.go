package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"example.com/weir/app-bootstrap/config"
)

const (
	startTimeout = 15 * time.Second
	// stopMargin is what a stop may take beyond its delay and its drain.
	stopMargin = 10 * time.Second
)

// App is an assembled Weir. It runs once.
type App struct {
	parts  *fx.App
	config config.Config
	logger *slog.Logger

	public     publicServer
	authorize  authorizeServer
	management managementServer
	// failures receives the error of a listener that ended by itself.
	failures chan error
}

// New assembles an App and opens nothing. A nil logger means none.
func New(cfg config.Config, logger *slog.Logger) (*App, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return newApp(cfg, logger)
}

// newApp adds further parts to those of the configuration.
func newApp(cfg config.Config, logger *slog.Logger, further ...fx.Option) (*App, error) {
	app := &App{config: cfg, logger: logger, failures: make(chan error, 3)}
	app.parts = fx.New(
		assembly(cfg, logger, app.failures),
		fx.Populate(&app.public, &app.authorize, &app.management),
		fx.Options(further...),
	)
	if err := app.parts.Err(); err != nil {
		return nil, fmt.Errorf("cannot assemble: %w", err)
	}
	return app, nil
}

// Run starts a, serves until ctx is done or a listener fails, and stops a. It
// returns nil after a clean stop that ctx asked for. It returns in bounded time
// after ctx is done, even when a part does not stop.
func (a *App) Run(ctx context.Context) error {
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.stop())
	}
	var failure error
	select {
	case <-ctx.Done():
		a.logger.Info("stopping")
	case failure = <-a.failures:
		a.logger.Error("stopping, because a listener failed", "error", failure)
	}
	if err := errors.Join(failure, a.stop()); err != nil {
		return err
	}
	a.logger.Info("stopped")
	return nil
}

// start goes on when ctx is done meanwhile, so that a stop has one order and
// not one for each moment of a start. It is bounded.
func (a *App) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	if err := a.parts.Start(ctx); err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	running := []any{
		"address", a.public.Addr(),
		"managementAddress", a.management.Addr(),
		"limits", mode(a.config.RateLimit),
		"policies", len(a.config.RateLimit.Policies.Policies()),
	}
	if a.authorize.server != nil {
		running = append(running, "authorizeAddress", a.authorize.Addr())
	}
	a.logger.Info("weir is running", running...)
	return nil
}

// stop has a deadline of its own: the context of Run is done by then.
func (a *App) stop() error {
	shutdown := a.config.Web.Shutdown
	ctx, cancel := context.WithTimeout(context.Background(), shutdown.Delay+shutdown.Drain+stopMargin)
	defer cancel()
	if err := a.parts.Stop(ctx); err != nil {
		return fmt.Errorf("cannot stop cleanly: %w", err)
	}
	return nil
}

func mode(limits config.RateLimit) string {
	if limits.Enabled() {
		return "redis"
	}
	return "local"
}

package bootstrap

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.uber.org/fx"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/management"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/app-bootstrap/config"
)

// managementDrain is how long requests to the management listener may take to
// end. All of them are short.
const managementDrain = 2 * time.Second

type (
	publicServer     struct{ *server }
	managementServer struct{ *server }
)

func web() fx.Option {
	return fx.Module("web",
		fx.Provide(
			fx.Private,
			newExtractor,
			newManagementHandler,
		),
		fx.Provide(
			newPublicServer,
			newManagementServer,
		),
		fx.Invoke(serve),
	)
}

func newExtractor(cfg config.Config, logger *slog.Logger) (*subject.Extractor, error) {
	extractor, err := subject.New(cfg.Web.Subject)
	if err != nil {
		return nil, err
	}
	if extractor.ChosenByClients() {
		logger.Warn("clients choose their subject themselves",
			"because", whyChosen(cfg.Web.Subject), "key", "app.web.subject.trusted-proxies")
	}
	return extractor, nil
}

func whyChosen(cfg subject.Config) string {
	if len(cfg.TrustedProxies) == 0 {
		return "no proxy is named and the header is believed from everybody"
	}
	return "a prefix of length 0 makes everybody a trusted proxy"
}

func newPublicServer(cfg config.Config, limits limits, extractor *subject.Extractor, logger *slog.Logger, failures failureReport) (publicServer, error) {
	limited, err := edge.New(edge.Config{
		Port:          limits.port,
		Local:         limits.local,
		Catalog:       limits.catalog,
		Pseudonym:     limits.pseudonym,
		DefaultPolicy: cfg.RateLimit.DefaultPolicy,
		Routes:        cfg.Web.Routes,
		DefaultRoute:  cfg.Web.DefaultRoute,
		Preflight:     cfg.Web.Preflight,
		Subject:       extractor,
		Deadline:      cfg.Web.EvaluationDeadline,
		Headers:       cfg.Web.Headers,
		LegacyReset:   cfg.Web.LegacyReset,
		Logger:        logger,
	})
	if err != nil {
		return publicServer{}, err
	}
	return publicServer{newServer(serverConfig{
		key:      "app.web.address",
		address:  cfg.Web.Address,
		handler:  limited(gateway.Resource()),
		drain:    cfg.Web.Shutdown.Drain,
		logger:   logger,
		failures: failures,
	})}, nil
}

// managementParts is what the management listener shows.
type managementParts struct {
	fx.In

	Config config.Config
	Limits limits
	Checks []management.Check `group:"checks"`
	Logger *slog.Logger
}

func newManagementHandler(parts managementParts) (*management.Handler, error) {
	evaluations, err := evaluation.New(evaluation.Config{
		Port:          parts.Limits.port,
		Catalog:       parts.Limits.catalog,
		Pseudonym:     parts.Limits.pseudonym,
		DefaultPolicy: parts.Config.RateLimit.DefaultPolicy,
		Deadline:      parts.Config.Web.EvaluationDeadline,
		Logger:        parts.Logger,
	})
	if err != nil {
		return nil, err
	}
	return management.New(management.Config{
		Token:      parts.Config.Web.ManagementToken.Reveal(),
		Evaluation: evaluations,
		Checks:     parts.Checks,
		Logger:     parts.Logger,
	})
}

func newManagementServer(cfg config.Config, handler *management.Handler, logger *slog.Logger, failures failureReport) managementServer {
	return managementServer{newServer(serverConfig{
		key:      "app.web.management-address",
		address:  cfg.Web.ManagementAddress,
		handler:  http.Handler(handler),
		drain:    managementDrain,
		logger:   logger,
		failures: failures,
	})}
}

// serve puts the listeners into their order. The first step of a stop is the
// last hook: readiness is withdrawn while both listeners still answer.
func serve(lifecycle fx.Lifecycle, cfg config.Config, public publicServer, private managementServer, handler *management.Handler) {
	lifecycle.Append(fx.StartStopHook(private.start, private.stop))
	lifecycle.Append(fx.StartStopHook(public.start, public.stop))
	lifecycle.Append(fx.StopHook(func(ctx context.Context) {
		handler.Drain()
		pause(ctx, cfg.Web.Shutdown.Delay)
	}))
}

// pause waits for duration, or until ctx is done.
func pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

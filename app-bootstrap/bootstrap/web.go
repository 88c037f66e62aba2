package bootstrap

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.uber.org/fx"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/adapter-inbound-web/forwardauth"
	"example.com/weir/adapter-inbound-web/management"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/app-bootstrap/config"
)

// managementDrain is how long requests to the listeners that are not public may
// take to end. All of them are short.
const managementDrain = 2 * time.Second

type (
	publicServer     struct{ *server }
	managementServer struct{ *server }
	// authorizeServer has no server where no address is configured for it.
	authorizeServer struct{ *server }

	// authorizer answers proxies that ask whether a request may pass.
	authorizer http.Handler
)

func web() fx.Option {
	return fx.Module("web",
		fx.Provide(
			fx.Private,
			newExtractor,
			newLayers,
			newEdgeConfig,
			newAuthorizer,
			newManagementHandler,
		),
		fx.Provide(
			newPublicServer,
			newAuthorizeServer,
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
	warnIfChosen(extractor, "app.web.subject.source", cfg, logger)
	return extractor, nil
}

// warnIfChosen warns of subjects, found as key says, that anybody can make up.
func warnIfChosen(extractor *subject.Extractor, key string, cfg config.Config, logger *slog.Logger) {
	if extractor.ChosenByClients() {
		logger.Warn("clients choose their subject themselves",
			"because", whyChosen(cfg.Web.Subject), "key", "app.web.subject.trusted-proxies", "identity", key)
	}
}

func whyChosen(cfg subject.Config) string {
	if len(cfg.TrustedProxies) == 0 {
		return "no proxy is named and the header is believed from everybody"
	}
	return "a prefix of length 0 makes everybody a trusted proxy"
}

// newEdgeConfig is that of the public listener, and of proxies that ask: both
// charge the same quotas.
func newEdgeConfig(cfg config.Config, limits limits, extractor *subject.Extractor, layers *edge.Layers, meter edgeMeter, logger *slog.Logger) edge.Config {
	return edge.Config{
		Port:          limits.port,
		Local:         limits.local,
		Catalog:       limits.catalog,
		Pseudonym:     limits.pseudonym,
		DefaultPolicy: cfg.RateLimit.DefaultPolicy,
		Routes:        cfg.Web.Routes,
		Layers:        layers,
		DefaultRoute:  cfg.Web.DefaultRoute,
		Preflight:     cfg.Web.Preflight,
		Subject:       extractor,
		Deadline:      cfg.Web.EvaluationDeadline,
		Headers:       cfg.Web.Headers,
		LegacyReset:   cfg.Web.LegacyReset,
		CORS:          cfg.Web.CORS,
		Meter:         meter,
		Logger:        logger,
	}
}

func newAuthorizer(edgeConfig edge.Config) (authorizer, error) { return forwardauth.New(edgeConfig) }

func newPublicServer(cfg config.Config, edgeConfig edge.Config, next application, logger *slog.Logger, failures failureReport) (publicServer, error) {
	limited, err := edge.New(edgeConfig)
	if err != nil {
		return publicServer{}, err
	}
	pair, err := newCertificate("app.web.tls", cfg.Web.TLS, logger)
	if err != nil {
		return publicServer{}, err
	}
	return publicServer{newServer(serverConfig{
		key:         "app.web.address",
		address:     cfg.Web.Address,
		handler:     limited(next),
		drain:       cfg.Web.Shutdown.Drain,
		certificate: pair,
		h2c:         cfg.Web.H2C,
		logger:      logger,
		failures:    failures,
	})}, nil
}

func newAuthorizeServer(cfg config.Config, handler authorizer, logger *slog.Logger, failures failureReport) authorizeServer {
	if cfg.Web.AuthorizeAddress == "" {
		return authorizeServer{}
	}
	return authorizeServer{newServer(serverConfig{
		key:      "app.web.authorize-address",
		address:  cfg.Web.AuthorizeAddress,
		handler:  handler,
		drain:    managementDrain,
		logger:   logger,
		failures: failures,
	})}
}

// managementParts is what the management listener shows.
type managementParts struct {
	fx.In

	Config     config.Config
	Limits     limits
	Authorizer authorizer
	Metrics    metricsHandler
	Checks     []management.Check `group:"checks"`
	Logger     *slog.Logger
}

func newManagementHandler(parts managementParts) (*management.Handler, error) {
	evaluations, err := evaluation.New(evaluation.Config{
		Port:          parts.Limits.port,
		LayeredPort:   parts.Limits.layered,
		Catalog:       parts.Limits.catalog,
		Pseudonym:     parts.Limits.pseudonym,
		DefaultPolicy: parts.Config.RateLimit.DefaultPolicy,
		Addressing:    parts.Config.Web.Subject.Addressing,
		Deadline:      parts.Config.Web.EvaluationDeadline,
		Logger:        parts.Logger,
	})
	if err != nil {
		return nil, err
	}
	return management.New(management.Config{
		Token:      parts.Config.Web.ManagementToken.Reveal(),
		Evaluation: evaluations,
		Authorize:  parts.Authorizer,
		Metrics:    parts.Metrics,
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
// last hook: readiness is withdrawn while all listeners still answer.
func serve(lifecycle fx.Lifecycle, cfg config.Config, public publicServer, authorize authorizeServer, private managementServer, handler *management.Handler) {
	lifecycle.Append(fx.StartStopHook(private.start, private.stop))
	if authorize.server != nil {
		lifecycle.Append(fx.StartStopHook(authorize.start, authorize.stop))
	}
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

package bootstrap

import (
	"log/slog"
	"net/http"

	"go.uber.org/fx"

	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/management"
	"example.com/weir/app-bootstrap/config"
)

// application is what a request reaches that the edge lets pass.
type application http.Handler

// forwarding is the one place that chooses between an application and what
// stands in for it.
func forwarding(cfg config.Config) fx.Option {
	if cfg.Web.Gateway.Upstream == "" {
		return fx.Module("resource", fx.Provide(newResource))
	}
	return fx.Module("gateway",
		fx.Provide(
			fx.Private,
			fx.Annotate(newGateway, fx.OnStop(closeGateway)),
		),
		fx.Provide(
			newApplication,
			fx.Annotate(newUpstreamCheck, fx.ResultTags(`group:"checks"`)),
		),
	)
}

func newResource() application { return gateway.Resource() }

func newGateway(cfg config.Config, logger *slog.Logger) (*gateway.Gateway, error) {
	settings := cfg.Web.Gateway
	settings.TrustedProxies = cfg.Web.Subject.TrustedProxies
	settings.ProxiesWrite = cfg.Web.Subject.Forwarded
	settings.CORS = cfg.Web.CORS
	settings.Logger = logger
	return gateway.New(settings)
}

// closeGateway runs once the listeners are closed.
func closeGateway(forward *gateway.Gateway) { forward.Close() }

func newApplication(forward *gateway.Gateway) application { return forward }

func newUpstreamCheck(forward *gateway.Gateway) management.Check {
	return management.Check{Name: "upstream", Probe: forward.Probe}
}

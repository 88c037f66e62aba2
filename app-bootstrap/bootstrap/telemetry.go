package bootstrap

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.uber.org/fx"
)

type (
	// edgeMeter makes the instruments of the edge.
	edgeMeter metric.Meter
	// metricsHandler answers scrapers.
	metricsHandler http.Handler
)

// telemetry is read by those who ask. Nothing is sent anywhere, and nothing of it
// is global.
func telemetry() fx.Option {
	return fx.Module("telemetry",
		fx.Provide(
			fx.Private,
			prometheus.NewRegistry,
			fx.Annotate(newMeterProvider, fx.OnStop(shutDown)),
		),
		fx.Provide(
			newEdgeMeter,
			newMetricsHandler,
		),
	)
}

// newMeterProvider names neither a resource nor a scope: the target that a scraper
// knows is the process, and the names of the instruments tell whose they are.
func newMeterProvider(registry *prometheus.Registry) (*sdk.MeterProvider, error) {
	reader, err := exporter.New(
		exporter.WithRegisterer(registry),
		exporter.WithoutTargetInfo(),
		exporter.WithoutScopeInfo(),
	)
	if err != nil {
		return nil, err
	}
	return sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithResource(resource.Empty())), nil
}

// shutDown runs once the listeners are closed.
func shutDown(ctx context.Context, provider *sdk.MeterProvider) error { return provider.Shutdown(ctx) }

func newEdgeMeter(provider *sdk.MeterProvider) edgeMeter {
	return provider.Meter("example.com/weir/adapter-inbound-web/edge")
}

func newMetricsHandler(registry *prometheus.Registry) metricsHandler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

package edge

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"example.com/weir/shared-contract/failure"
)

// degradations counts the requests that a failure mode lets pass or has decided
// locally.
type degradations struct {
	counter metric.Int64Counter
	// options hold the attributes, made once because every request of an outage
	// needs them.
	options map[failure.Category][]metric.AddOption
}

func newDegradations(meter metric.Meter, mode FailureMode) (*degradations, error) {
	if meter == nil {
		meter = noop.Meter{}
	}
	counter, err := meter.Int64Counter("weir.edge.degraded",
		metric.WithUnit("{request}"),
		metric.WithDescription("Requests that were let pass, or decided locally, because their limits could not be decided."),
	)
	if err != nil {
		return nil, err
	}
	d := &degradations{counter: counter, options: make(map[failure.Category][]metric.AddOption)}
	for _, category := range mode.categories() {
		options := []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
			attribute.String("mode", string(mode)),
			attribute.String("category", string(category)),
		))}
		d.options[category] = options
		// A series that began at one would show no increase for the first request.
		counter.Add(context.Background(), 0, options...)
	}
	return d, nil
}

func (d *degradations) count(ctx context.Context, category failure.Category) {
	d.counter.Add(ctx, 1, d.options[category]...)
}

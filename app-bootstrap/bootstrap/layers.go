package bootstrap

import (
	"fmt"
	"log/slog"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/app-bootstrap/config"
)

// newLayers is nil where no set of levels is in use. The public listener and
// proxies that ask get the same ones, and so fall back to the same windows.
func newLayers(cfg config.Config, limits limits, logger *slog.Logger) (*edge.Layers, error) {
	if cfg.Web.Layers == nil {
		return nil, nil
	}
	layers := cfg.Web.Layers.Edge
	layers.Port = limits.layered
	if layers.FailureMode == edge.LocalFallback {
		fallback, err := locallimit.NewLayers(cfg.Web.LocalLimiter.MaxSubjects)
		if err != nil {
			return nil, err
		}
		layers.Fallback = fallback
	}
	identities := logger
	if layers.FailureMode == edge.FailOpen {
		identities = logger.With("outage", "lets whoever names the identities of all levels pass, unlimited")
	}
	names := make([]string, len(layers.Levels))
	for i, level := range layers.Levels {
		names[i] = level.Name
		warnIfChosen(level.Subject, "app.web.layers.identities."+level.Name, cfg, identities)
	}
	logger.Info("requests with the identities of all levels are charged at every level or at none",
		"set", cfg.Web.Layers.Set, "levels", names, "failureMode", layers.FailureMode, "outage", outage(layers))
	return &layers, nil
}

// outage says what becomes of those requests while the store cannot be reached.
func outage(layers edge.Layers) string {
	switch {
	case layers.FailureMode == edge.FailClosed:
		return "refuses them"
	case layers.FailureMode == edge.FailOpen:
		return "lets them pass, unlimited"
	case layers.Replicas == 0:
		return "allows limit x replicas, since each process enforces the whole limits"
	default:
		return fmt.Sprintf("allows the limits, since each of %d replicas enforces its share, rounded up", layers.Replicas)
	}
}

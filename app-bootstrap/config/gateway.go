package config

import (
	"errors"
	"time"

	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	upstreamKey = "app.web.upstream"
	gatewayKey  = "app.web.gateway"
)

type gatewaySection struct {
	DialTimeout           time.Duration `koanf:"dial-timeout"`
	TLSTimeout            time.Duration `koanf:"tls-timeout"`
	ResponseHeaderTimeout time.Duration `koanf:"response-header-timeout"`
	IdleTimeout           time.Duration `koanf:"idle-timeout"`
	MaxIdleConnections    int           `koanf:"max-idle-connections"`
	CAFile                string        `koanf:"ca-file"`
	ServerName            string        `koanf:"server-name"`
	H2C                   bool          `koanf:"h2c"`
	HealthPath            string        `koanf:"health-path"`
	Forwarded             string        `koanf:"forwarded"`
}

func gatewayDefaults() gatewaySection {
	return gatewaySection{
		DialTimeout:           2 * time.Second,
		TLSTimeout:            5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleTimeout:           90 * time.Second,
		MaxIdleConnections:    128,
		Forwarded:             string(gateway.XForwarded),
	}
}

// gateway checks by constructing: the gateway alone knows its bounds. Without an
// upstream nothing is checked: what has no effect must not stop a start.
func (r *resolver) gateway(web webSection) gateway.Config {
	if web.Upstream == "" {
		for _, key := range r.given.under(gatewayKey) {
			r.warn(key, "has no effect, because %s is not given", upstreamKey)
		}
		return gateway.Config{}
	}
	section := web.Gateway
	config := gateway.Config{
		Upstream:              web.Upstream,
		DialTimeout:           section.DialTimeout,
		TLSTimeout:            section.TLSTimeout,
		ResponseHeaderTimeout: section.ResponseHeaderTimeout,
		IdleTimeout:           section.IdleTimeout,
		MaxIdleConnections:    section.MaxIdleConnections,
		RootCAs:               r.rootCAs(join(gatewayKey, "ca-file"), section.CAFile),
		ServerName:            section.ServerName,
		H2C:                   section.H2C,
		HealthPath:            section.HealthPath,
		Forwarded:             gateway.Forwarded(section.Forwarded),
	}
	if section.Forwarded == "" {
		r.add(join(gatewayKey, "forwarded"), "must be %s or %s", gateway.XForwarded, gateway.StandardForwarded)
	}
	_, err := gateway.New(config)
	var faults ratelimit.Faults
	errors.As(err, &faults)
	for _, fault := range faults {
		key := join(gatewayKey, fault.Field)
		if fault.Field == "upstream" {
			key = upstreamKey
		}
		r.addUnlessReported(key, "%s", fault.Problem)
	}
	return config
}

package gateway_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that each fault of a configuration names its field and bound, and that
// no password is repeated.
func TestNew_Faults(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*gateway.Config)
		want   string // empty: none
	}{
		{"http", func(*gateway.Config) {}, ""},
		{"slash at the end", func(c *gateway.Config) { c.Upstream = "http://app:9000/" }, ""},
		{"https without port", func(c *gateway.Config) { c.Upstream = "https://app.internal" }, ""},
		{"IPv6", func(c *gateway.Config) { c.Upstream = "http://[::1]:9000" }, ""},
		{"everything of https", func(c *gateway.Config) {
			c.Upstream, c.ServerName, c.RootCAs = "https://[::1]:9000", "app.internal", x509.NewCertPool()
		}, ""},
		{"no upstream", func(c *gateway.Config) { c.Upstream = "" }, "upstream: must be a URL such as http://127.0.0.1:9000 or https://app.internal"},
		{"host and port only", func(c *gateway.Config) { c.Upstream = "127.0.0.1:9000" }, "upstream: must be a URL such as http://127.0.0.1:9000 or https://app.internal"},
		{"another scheme", func(c *gateway.Config) { c.Upstream = "ftp://app" }, "upstream: must be a URL such as http://127.0.0.1:9000 or https://app.internal"},
		{"no host", func(c *gateway.Config) { c.Upstream = "http://:80" }, "upstream: must be a URL such as http://127.0.0.1:9000 or https://app.internal"},
		{"password", func(c *gateway.Config) { c.Upstream = "http://u:hunter2@app" }, "upstream: must have no user and no password"},
		{"query", func(c *gateway.Config) { c.Upstream = "http://app?" }, "upstream: must have neither query nor fragment"},
		{"fragment", func(c *gateway.Config) { c.Upstream = "http://app#" }, "upstream: must have neither query nor fragment"},
		{"path", func(c *gateway.Config) { c.Upstream = "http://app/base" }, "upstream: must have no path, since paths are sent on as they come"},
		{"port", func(c *gateway.Config) { c.Upstream = "http://app:65536" }, "upstream: must have a port of 1 to 65535, or none"},
		{"no port after the colon", func(c *gateway.Config) { c.Upstream = "http://app:" }, "upstream: must have a port of 1 to 65535, or none"},
		{"timeouts", func(c *gateway.Config) {
			c.DialTimeout, c.TLSTimeout, c.ResponseHeaderTimeout, c.IdleTimeout = 0, time.Hour, 25*time.Hour, 1500*time.Microsecond
		}, "dial-timeout: is 0s, must be 1ms to 1m0s; tls-timeout: is 1h0m0s, must be 1ms to 1m0s; response-header-timeout: is 25h0m0s, must be 1ms to 24h0m0s; idle-timeout: is 1.5ms, must be a whole number of milliseconds"},
		{"connections", func(c *gateway.Config) { c.MaxIdleConnections = 0 }, "max-idle-connections: is 0, must be 1 to 65536"},
		{"TLS without TLS", func(c *gateway.Config) { c.ServerName, c.RootCAs = "app", x509.NewCertPool() },
			"ca-file: must be empty, because the upstream is not https; server-name: must be empty, because the upstream is not https"},
		{"h2c over TLS", func(c *gateway.Config) { c.Upstream, c.H2C = "https://app", true },
			"h2c: must be false, because the upstream is https and agrees on HTTP/2 by itself"},
		{"server name that is an address", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", "::1" }, ""},
		{"server name with underscores", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", "_a.my_app.internal" }, ""},
		{"server name with a port", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", "app.internal:443" }, "server-name: must be a host name such as app.internal"},
		{"server name that is a URL", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", "https://app" }, "server-name: must be a host name such as app.internal"},
		{"server name with an empty label", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", "app..internal" }, "server-name: must be a host name such as app.internal"},
		{"server name of many labels", func(c *gateway.Config) { c.Upstream, c.ServerName = "https://app", strings.Repeat("a.", 127)+"a" }, "server-name: must be a host name such as app.internal"},
		{"health path", func(c *gateway.Config) { c.HealthPath = "healthz" }, "health-path: must be a path such as /healthz"},
		{"health path elsewhere", func(c *gateway.Config) { c.HealthPath = "http://elsewhere/" }, "health-path: must be a path such as /healthz"},
		{"forwarded", func(c *gateway.Config) { c.Forwarded = "both" }, `forwarded: is "both", must be x-forwarded or forwarded`},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := to("http://127.0.0.1:9000")
			test.change(&config)
			_, err := gateway.New(config)
			got := ""
			if err != nil {
				got = err.Error()
				if faults, ok := errors.AsType[ratelimit.Faults](err); !ok || len(faults) == 0 {
					t.Errorf("%T is no ratelimit.Faults", err)
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

package config_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/app-bootstrap/config"
)

// Ensure that an upstream is all that forwarding takes, with the defaults of the
// documentation.
func TestLoad_Gateway(t *testing.T) {
	got := mustLoad(t, "app: {web: {upstream: \"http://127.0.0.1:9000\"}}").Web.Gateway
	want := gateway.Config{
		Upstream:              "http://127.0.0.1:9000",
		DialTimeout:           2 * time.Second,
		TLSTimeout:            5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleTimeout:           90 * time.Second,
		MaxIdleConnections:    128,
		Forwarded:             gateway.XForwarded,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Ensure that everything of an upstream arrives as it was written.
func TestLoad_GatewayComplete(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.StartTLS()
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	cfg, warnings, err := config.Load(config.Sources{File: "weir.yaml", ReadFile: files{"ca.pem": string(authority), "weir.yaml": `
app:
  web:
    upstream: https://app.internal
    gateway: {dial-timeout: 1s, tls-timeout: 2s, response-header-timeout: 3s, idle-timeout: 4s, max-idle-connections: 5,
      ca-file: ca.pem, server-name: other.internal, h2c: false, health-path: /healthz, forwarded: forwarded}
`}.read})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	got := cfg.Web.Gateway
	if got.RootCAs == nil {
		t.Error("no authorities")
	}
	got.RootCAs = nil
	want := gateway.Config{
		Upstream:              "https://app.internal",
		DialTimeout:           time.Second,
		TLSTimeout:            2 * time.Second,
		ResponseHeaderTimeout: 3 * time.Second,
		IdleTimeout:           4 * time.Second,
		MaxIdleConnections:    5,
		ServerName:            "other.internal",
		HealthPath:            "/healthz",
		Forwarded:             gateway.StandardForwarded,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Ensure that what has no effect is warned about, by its key.
func TestLoad_GatewayWithoutEffect(t *testing.T) {
	cfg, warnings, err := load("app: {web: {gateway: {dial-timeout: 0s, ca-file: nowhere}}}")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, warning := range warnings {
		keys = append(keys, warning.Key)
	}
	if want := []string{"app.web.gateway.ca-file", "app.web.gateway.dial-timeout"}; !reflect.DeepEqual(keys, want) {
		t.Errorf("warnings about %v, want %v", keys, want)
	}
	if !reflect.DeepEqual(cfg.Web.Gateway, gateway.Config{}) {
		t.Errorf("gateway %+v", cfg.Web.Gateway)
	}
}

// Ensure that an application may use the port of a listener on another host, as
// containers do.
func TestLoad_UpstreamBesideTheListeners(t *testing.T) {
	for _, web := range []string{
		`address: ":8080", upstream: "http://app:8080"`,
		`address: "0.0.0.0:8080", upstream: "http://192.0.2.7:8080"`,
		`address: "127.0.0.1:8080", upstream: "http://127.0.0.2:8080"`,
		`address: "127.0.0.1:0", upstream: "http://127.0.0.1:9000"`,
		`address: "127.0.0.1:80", upstream: "https://127.0.0.1"`,
	} {
		if _, _, err := load("app: {web: {" + web + "}}"); err != nil {
			t.Errorf("%s: %v", web, err)
		}
	}
}

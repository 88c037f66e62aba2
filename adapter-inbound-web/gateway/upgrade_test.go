package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"

	"example.com/weir/adapter-inbound-web/gateway"
)

// Ensure that a WebSocket passes in both directions, and that the answer to its
// handshake tells what is left of the quota.
func TestGateway_WebSocket(t *testing.T) {
	for name, h2c := range map[string]bool{"HTTP/1 upstream": false, "h2c upstream": true} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			application := serve(t, websocket.Handler(func(connection *websocket.Conn) {
				defer close(ended)
				for {
					var text string
					if websocket.Message.Receive(connection, &text) != nil {
						return
					}
					if err := websocket.Message.Send(connection, "echo "+text); err != nil {
						t.Error(err)
					}
				}
			}))
			config := to(application.URL)
			config.H2C = h2c
			front := serve(t, limited(t, newGateway(t, config)))

			connection, err := websocket.Dial("ws"+strings.TrimPrefix(front.URL, "http"), "", front.URL)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				sent, got := fmt.Sprintf("hello %d", i), ""
				if err := websocket.Message.Send(connection, sent); err != nil {
					t.Fatal(err)
				}
				if err := websocket.Message.Receive(connection, &got); err != nil || got != "echo "+sent {
					t.Fatalf("got %q, %v", got, err)
				}
			}
			if err := connection.Close(); err != nil {
				t.Error(err)
			}
			<-ended // a client that leaves ends the connection to the application
		})
	}
}

// Ensure that the answer to a handshake carries the rate-limit fields, once.
func TestGateway_HandshakeTellsTheQuota(t *testing.T) {
	application := serve(t, websocket.Handler(func(*websocket.Conn) {}))
	front := serve(t, limited(t, newGateway(t, to(application.URL))))
	got := raw(t, front.URL, "GET / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	if got.StatusCode != http.StatusSwitchingProtocols || len(got.Header["Ratelimit"]) != 1 {
		t.Errorf("answered %d %v", got.StatusCode, got.Header)
	}
}

// Ensure that no client leaves the limiter behind by upgrading to a protocol in
// which it can send any number of requests.
func TestGateway_HidesUpgradesToHTTP(t *testing.T) {
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header["Upgrade"], r.Header["Connection"], r.Header["Http2-Settings"])
	})
	for _, protocol := range []string{"h2c", "H2C", "websocket, h2c", "HTTP/2.0", "TLS/1.2", "spdy/3.1"} {
		got := raw(t, gatewayURL, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "+protocol+"\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
		if got.StatusCode != http.StatusOK || got.body != "[] [] []" {
			t.Errorf("Upgrade: %s reaches the application: %d %s", protocol, got.StatusCode, got.body)
		}
	}
}

// Ensure that an upgrade that cannot be read is the client's fault.
func TestGateway_UnreadableUpgrade(t *testing.T) {
	gatewayURL := inFrontOf(t, func(http.ResponseWriter, *http.Request) { t.Error("the application was asked") },
		func(c *gateway.Config) { c.Logger = logTo(t.Output()) })
	got := raw(t, gatewayURL, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websöcket\r\n\r\n")
	if got.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %d %s", got.StatusCode, got.body)
	}
}

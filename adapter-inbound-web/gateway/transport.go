package gateway

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	// keepAlive finds out that a peer has vanished without a word.
	keepAlive = 30 * time.Second
	// pingTimeout is how long an HTTP/2 connection may owe a reply to a ping.
	pingTimeout = 15 * time.Second
	// continueTimeout is how long a client that wants to be asked for its content
	// (Expect: 100-continue) waits for the application to ask.
	continueTimeout = time.Second
	// maxAnswerHeaderBytes bounds the header of an answer.
	maxAnswerHeaderBytes = 1 << 20
)

// transport connects to the application. An upgrade is a matter of HTTP/1, so
// what asks for one has connections of its own.
type transport struct {
	requests, upgrades *http.Transport
}

var _ http.RoundTripper = (*transport)(nil)

func newTransport(config Config) *transport {
	var both, first http.Protocols
	first.SetHTTP1(true)
	if config.H2C {
		both.SetUnencryptedHTTP2(true)
	} else {
		both.SetHTTP1(true)
		both.SetHTTP2(true)
	}
	return &transport{requests: newPool(config, both), upgrades: newPool(config, first)}
}

// newPool asks nobody's environment for a proxy: where the application is, is
// configured.
func newPool(config Config, protocols http.Protocols) *http.Transport {
	return &http.Transport{
		DialContext:            dialer(config).DialContext,
		TLSClientConfig:        tlsConfig(config),
		TLSHandshakeTimeout:    config.TLSTimeout,
		ResponseHeaderTimeout:  config.ResponseHeaderTimeout,
		ExpectContinueTimeout:  continueTimeout,
		IdleConnTimeout:        config.IdleTimeout,
		MaxIdleConns:           config.MaxIdleConnections,
		MaxIdleConnsPerHost:    config.MaxIdleConnections,
		MaxResponseHeaderBytes: maxAnswerHeaderBytes,
		DisableCompression:     true, // bytes pass as they are
		Protocols:              &protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: pingTimeout},
		WriteBufferSize:        bufferBytes,
		ReadBufferSize:         bufferBytes,
	}
}

func dialer(config Config) *net.Dialer {
	return &net.Dialer{Timeout: config.DialTimeout, KeepAlive: keepAlive}
}

func tlsConfig(config Config) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.RootCAs, ServerName: config.ServerName}
}

// RoundTrip sends r and returns the answer.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return t.upgrades.RoundTrip(r)
	}
	return t.requests.RoundTrip(r)
}

func (t *transport) close() {
	t.requests.CloseIdleConnections()
	t.upgrades.CloseIdleConnections()
}

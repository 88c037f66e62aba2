package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Probe returns nil if the application can be reached, with TLS if that is how,
// and answers its health path with 2xx or 3xx if it has one. The error does not
// name the application's address.
func (g *Gateway) Probe(ctx context.Context) error {
	if g.health == "" {
		return g.connect(ctx)
	}
	return g.ask(ctx)
}

func (g *Gateway) connect(ctx context.Context) error {
	var connection net.Conn
	var err error
	pool := g.transport.requests
	if address := g.address(); g.upstream.Scheme == "https" {
		dialer := tls.Dialer{Config: pool.TLSClientConfig}
		connection, err = dialer.DialContext(ctx, "tcp", address)
	} else {
		connection, err = pool.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return reason(err)
	}
	return connection.Close()
}

// address is the upstream's host:port.
func (g *Gateway) address() string {
	if g.upstream.Port() != "" {
		return g.upstream.Host
	}
	return net.JoinHostPort(g.upstream.Hostname(), g.upstream.Scheme)
}

func (g *Gateway) ask(ctx context.Context) error {
	target := g.upstream.Scheme + "://" + g.upstream.Host + g.health
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "weir")
	// Redirects are not followed: that the application redirects says that it runs.
	response, err := g.transport.RoundTrip(request)
	if err != nil {
		return reason(err)
	}
	if err := response.Body.Close(); err != nil {
		return reason(err)
	}
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s is answered %d", g.health, response.StatusCode)
	}
	return nil
}

// reason leaves out the address, which is nobody's concern who asks for readiness.
func reason(err error) error {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(unknown.Err)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}

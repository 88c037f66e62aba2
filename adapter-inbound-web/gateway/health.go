package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Probe returns nil if the application can be reached, with TLS if that is how,
// and answers its health path with 2xx or 3xx if it has one. The error does not
// name the application's address.
func (g *Gateway) Probe(ctx context.Context) error {
	if g.health == nil {
		return g.connect(ctx)
	}
	return g.ask(ctx)
}

func (g *Gateway) connect(ctx context.Context) error {
	var connection net.Conn
	var err error
	pool := g.transport.requests
	if address := g.address(); g.upstream.Scheme == "https" {
		dialer := tls.Dialer{Config: g.probe}
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

// maxHealthBytes is how much of an answer a probe reads.
const maxHealthBytes = 64 << 10

// healthTarget is nil without a path, which is valid otherwise.
func healthTarget(upstream *url.URL, path string) *url.URL {
	target, err := url.ParseRequestURI(path)
	if err != nil {
		return nil
	}
	target.Scheme, target.Host = upstream.Scheme, upstream.Host
	return target
}

func (g *Gateway) ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.health.String(), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "weir")
	// Redirects are not followed: that the application redirects says that it runs.
	response, err := g.transport.RoundTrip(request)
	if err != nil {
		return reason(err)
	}
	// What is read to its end leaves the connection for the next probe.
	_, _ = io.CopyN(io.Discard, response.Body, maxHealthBytes)
	_ = response.Body.Close() // the status has said it all
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s is answered %d", g.health.RequestURI(), response.StatusCode)
	}
	return nil
}

// reason leaves out addresses and names, which are nobody's concern who asks for
// readiness.
func reason(err error) error {
	if problem := certificateProblem(err); problem != "" {
		return errors.New(problem)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errors.New("the upstream speaks no TLS")
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(unknown.Err)
	}
	if unusable, ok := errors.AsType[*net.AddrError](err); ok {
		return errors.New(unusable.Err)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}

// certificateProblem is empty if err is about something else.
func certificateProblem(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the upstream's certificate is for another name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the upstream's certificate is signed by an unknown authority"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the upstream's certificate has expired or is not yet valid"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the upstream's certificate cannot be verified"
	}
	return ""
}

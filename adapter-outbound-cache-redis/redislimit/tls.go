package redislimit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/shared-contract/ratelimit"
)

// TLS is how to speak with the server of a rediss endpoint: TLS 1.2 or newer,
// the server's name always checked, and never in clear instead. The zero TLS
// believes whom the system believes.
type TLS struct {
	// RootCAs are the authorities to believe about the server. Nil means those
	// of the system.
	RootCAs *x509.CertPool
	// ServerName is the name or address in the server's certificate. Empty means
	// the host of the endpoint.
	ServerName string
	// Certificate gives what the client proves itself with, if the server asks,
	// anew for each connection. Nil means nothing.
	Certificate func() (*tls.Certificate, error)
}

func (t TLS) isZero() bool { return t.RootCAs == nil && t.ServerName == "" && t.Certificate == nil }

func (t TLS) check(faults *ratelimit.Faults) {
	if t.ServerName != "" {
		if err := CheckServerName(t.ServerName); err != nil {
			faults.Add("tls.server-name", "%v", err)
		}
	}
}

var hostName = regexp.MustCompile(`^(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?))*$`)

// CheckServerName says what is wrong with a TLS.ServerName. An address will do,
// since certificates may hold them.
func CheckServerName(name string) error {
	const maxNameBytes = 253
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" {
		return nil
	}
	if len(name) > maxNameBytes || !hostName.MatchString(name) {
		return errors.New("must be a host name such as redis.internal")
	}
	return nil
}

// dialer opens connections to endpoint, handshake included, within
// config.DialTimeout.
func dialer(config Config, endpoint endpoint) certainty.Dial {
	plain := &net.Dialer{Timeout: config.DialTimeout}
	if !endpoint.secure {
		return plain.DialContext
	}
	secure := config.TLS.client(endpoint)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// The library gives no deadline of its own.
		ctx, cancel := context.WithTimeout(ctx, config.DialTimeout)
		defer cancel()
		conn, err := plain.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		encrypted := tls.Client(conn, secure)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, explainHandshake(err)
		}
		return encrypted, nil
	}
}

func (t TLS) client(endpoint endpoint) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    t.RootCAs,
		ServerName: endpoint.host,
	}
	if t.ServerName != "" {
		config.ServerName = t.ServerName
	}
	if t.Certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.Certificate() }
	}
	return config
}

// explainHandshake names the likely reason where the library's words do not.
func explainHandshake(err error) error {
	var inClear tls.RecordHeaderError
	switch {
	case errors.As(err, &inClear):
		return fmt.Errorf("TLS handshake: the port does not speak TLS: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("TLS handshake: no answer, perhaps because the port does not speak TLS: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

package gateway

import (
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/ratelimit"
)

// Bounds of [Config].
const (
	// MaxConnectTimeout is the largest DialTimeout and TLSTimeout.
	MaxConnectTimeout = time.Minute
	// MaxResponseHeaderTimeout is the largest ResponseHeaderTimeout.
	MaxResponseHeaderTimeout = 24 * time.Hour
	// MaxIdleTimeout is the largest IdleTimeout.
	MaxIdleTimeout = time.Hour
	// MaxIdleConnections is the largest number of idle connections.
	MaxIdleConnections = 65536
)

// Forwarded says in which header fields the application learns of the client.
// The zero value means [XForwarded].
type Forwarded string

const (
	// XForwarded writes X-Forwarded-For, -Host and -Proto.
	XForwarded Forwarded = "x-forwarded"
	// StandardForwarded writes Forwarded (RFC 7239).
	StandardForwarded Forwarded = "forwarded"
)

// Config is what [New] checks. All timeouts are whole milliseconds, at least one.
type Config struct {
	// Upstream is the application: http or https, a host and perhaps a port,
	// and nothing else.
	Upstream string
	// DialTimeout bounds an attempt to connect, TLSTimeout the handshake after it.
	DialTimeout time.Duration
	TLSTimeout  time.Duration
	// ResponseHeaderTimeout bounds the wait for an answer to begin once a request
	// is sent. There is no bound on how long an answer takes to end.
	ResponseHeaderTimeout time.Duration
	// IdleTimeout is how long a connection is kept for further requests.
	IdleTimeout time.Duration
	// MaxIdleConnections is how many connections are kept, 1 or more.
	MaxIdleConnections int
	// RootCAs are whom to believe about an https upstream. Nil means whom the
	// system believes.
	RootCAs *x509.CertPool
	// ServerName is the name in the certificate of an https upstream. Empty means
	// the host of Upstream.
	ServerName string
	// H2C speaks HTTP/2 to an http upstream, without asking first. An https
	// upstream is asked in the handshake and needs no setting.
	H2C bool
	// HealthPath is asked by [Gateway.Probe]; empty means that a connection will do.
	HealthPath string
	// Forwarded chooses the fields that speak of the client.
	Forwarded Forwarded
	// TrustedProxies are the peers whose own forwarding fields are kept, in the
	// form of [subject.ParseTrustedProxies]. Those of others are replaced.
	TrustedProxies []netip.Prefix
	// ProxiesWrite is the family of fields that they write. They pass the other one
	// on as a client wrote it, so if Forwarded is the other one, no field is kept.
	// The zero value means [subject.XForwardedFor].
	ProxiesWrite subject.Forwarded
	// CORS says whose pages may read what the gateway itself answers: that of the
	// edge before it. Nil means that of no other origin.
	CORS *answer.CORS
	// Logger gets failures of the upstream, and clients that leave at debug level.
	// Nil means none.
	Logger *slog.Logger
}

// check returns the upstream as well.
func (c Config) check() (*url.URL, error) {
	var faults ratelimit.Faults
	upstream, err := parseUpstream(c.Upstream)
	if err != nil {
		faults.Add("upstream", "%v", err)
	}
	faults.AddUnlessDuration("dial-timeout", c.DialTimeout, time.Millisecond, MaxConnectTimeout)
	faults.AddUnlessDuration("tls-timeout", c.TLSTimeout, time.Millisecond, MaxConnectTimeout)
	faults.AddUnlessDuration("response-header-timeout", c.ResponseHeaderTimeout, time.Millisecond, MaxResponseHeaderTimeout)
	faults.AddUnlessDuration("idle-timeout", c.IdleTimeout, time.Millisecond, MaxIdleTimeout)
	faults.AddUnlessBetween("max-idle-connections", int64(c.MaxIdleConnections), 1, MaxIdleConnections)
	if err == nil {
		c.checkScheme(upstream.Scheme, &faults)
	}
	if err := checkHealthPath(c.HealthPath); err != nil {
		faults.Add("health-path", "%v", err)
	}
	switch c.Forwarded {
	case "", XForwarded, StandardForwarded:
	default:
		faults.Add("forwarded", "is %q, must be %s or %s", string(c.Forwarded), XForwarded, StandardForwarded)
	}
	return upstream, faults.Err()
}

// checkScheme refuses what is wrong for the scheme, and what would have no
// effect, since who sets it takes the connection for something that it is not.
func (c Config) checkScheme(scheme string, faults *ratelimit.Faults) {
	if scheme == "https" {
		if c.H2C {
			faults.Add("h2c", "must be false, because the upstream is https and agrees on HTTP/2 by itself")
		}
		if c.ServerName == "" {
			return
		}
		if err := checkServerName(c.ServerName); err != nil {
			faults.Add("server-name", "%v", err)
		}
		return
	}
	if c.RootCAs != nil {
		faults.Add("ca-file", "must be empty, because the upstream is not https")
	}
	if c.ServerName != "" {
		faults.Add("server-name", "must be empty, because the upstream is not https")
	}
}

// parseUpstream does not repeat text, which may hold a password.
func parseUpstream(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Opaque != "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return nil, errors.New("must be a URL such as http://127.0.0.1:9000 or https://app.internal")
	case parsed.User != nil:
		return nil, errors.New("must have no user and no password")
	case parsed.RawQuery != "" || parsed.ForceQuery || strings.Contains(text, "#"):
		return nil, errors.New("must have neither query nor fragment")
	case parsed.Path != "" && parsed.Path != "/":
		return nil, errors.New("must have no path, since paths are sent on as they come")
	}
	if port := parsed.Port(); port != "" || strings.HasSuffix(parsed.Host, ":") {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return nil, errors.New("must have a port of 1 to 65535, or none")
		}
	}
	return &url.URL{Scheme: parsed.Scheme, Host: parsed.Host}, nil
}

// hostName is dot-separated labels; an underscore is none of a host's, but some
// names of certificates have one.
var hostName = regexp.MustCompile(`^(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?))*$`)

// checkServerName accepts addresses too, since certificates may hold them.
func checkServerName(name string) error {
	const maxNameBytes = 253
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" {
		return nil
	}
	if len(name) > maxNameBytes || !hostName.MatchString(name) {
		return errors.New("must be a host name such as app.internal")
	}
	return nil
}

func checkHealthPath(path string) error {
	if path == "" {
		return nil
	}
	target, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/") || target.Host != "" || strings.ContainsAny(path, "# ") {
		return errors.New("must be a path such as /healthz")
	}
	return nil
}

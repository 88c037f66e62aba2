package redislimit_test

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// serverName is in the certificates of real servers.
const serverName = "redis.internal"

// refused is what the log says of a connection that the server closes after the
// handshake: whether its reason arrives is a matter of luck.
const refused = "redis does not decide"

func secured(t testing.TB, address string, secure redislimit.TLS) redislimit.Config {
	c := config(t, address, policySpec("p", endlessFive))
	c.Endpoint = "rediss://" + address
	c.TLS = secure
	return c
}

func presents(t testing.TB, identity redistest.Identity) func() (*tls.Certificate, error) {
	pair := identity.Pair(t)
	return func() (*tls.Certificate, error) { return &pair, nil }
}

// failsToConnect wants a failure that certainly charged nothing, and a log that
// says why.
func failsToConnect(t *testing.T, c redislimit.Config, cause string) {
	t.Helper()
	if log := logOfAFailure(t, c); !strings.Contains(log, cause) {
		t.Errorf("the log does not say %q:\n%s", cause, log)
	}
}

// logOfAFailure wants a failure that certainly charged nothing.
func logOfAFailure(t *testing.T, c redislimit.Config) string {
	t.Helper()
	var log memo
	c.Logger = log.logger()
	limiter := newLimiter(t, c)
	wantUnready(t, limiter, "connection")
	wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable connection")
	return log.String()
}

// Ensure that real servers are believed and believe the client for the right
// reasons only.
func TestTLS(t *testing.T) {
	authority, stranger := redistest.NewAuthority(t), redistest.NewAuthority(t)
	client := presents(t, authority.Issue(t))
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) {
			anyClient := redistest.StartTLS(t, lane, authority, []string{serverName})
			knownClient := redistest.StartTLS(t, lane, authority, []string{serverName}, "--tls-auth-clients", "yes")
			for name, test := range map[string]struct {
				server *redistest.Server
				secure redislimit.TLS
				cause  string // empty: it decides
			}{
				"server known": {anyClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName}, ""},
				"client known, too": {knownClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName, Certificate: client}, ""},
				"certificate that nobody asks for": {anyClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName, Certificate: client}, ""},
				"no certificate of the client": {knownClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName}, refused},
				"client of another authority": {knownClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName, Certificate: presents(t, stranger.Issue(t))}, refused},
				"server of another authority": {anyClient,
					redislimit.TLS{RootCAs: stranger.Pool(), ServerName: serverName}, "unknown authority"},
				"authorities of the system": {anyClient,
					redislimit.TLS{ServerName: serverName}, "unknown authority"},
				"another name": {anyClient,
					redislimit.TLS{RootCAs: authority.Pool(), ServerName: "other.internal"}, "not other.internal"},
			} {
				t.Run(name, func(t *testing.T) {
					c := secured(t, test.server.Addr, test.secure)
					if test.cause != "" {
						failsToConnect(t, c, test.cause)
						return
					}
					limiter := newLimiter(t, c)
					wantLabel(t, evaluate(t, limiter, request(t, "p", name, 1)), "allowed")
					wantUnready(t, limiter, "")
				})
			}
			t.Run("client in clear", func(t *testing.T) {
				c := config(t, anyClient.Addr, policySpec("p", endlessFive))
				failsToConnect(t, c, refused)
			})
		})
	}
}

// Ensure that a server in clear is never spoken to, whatever the reason that it
// does not speak TLS.
func TestTLSAtAPortInClear(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c := secured(t, server.Addr, redislimit.TLS{})
		c.DialTimeout = 300 * time.Millisecond // which passes in full
		if log := logOfAFailure(t, c); !strings.Contains(log, "TLS handshake: ") {
			t.Logf("perhaps this machine stood still before it began one:\n%s", log)
			c.DialTimeout = 5 * time.Second
			failsToConnect(t, c, "TLS handshake: ")
		}
		if keys := server.Client(t).DBSize(t.Context()).Val(); keys != 0 {
			t.Errorf("%d keys were written", keys)
		}
	})
}

// Ensure which versions and which certificates are good enough.
func TestTLSServers(t *testing.T) {
	authority := redistest.NewAuthority(t)
	const own = "127.0.0.1" // the host of the endpoint
	issue := func(hosts ...string) redistest.Identity { return authority.Issue(t, hosts...) }
	for name, test := range map[string]struct {
		identity   redistest.Identity
		oldest     uint16
		newest     uint16
		serverName string
		cause      string // empty: it decides
	}{
		"the endpoint's host":      {identity: issue(own)},
		"TLS 1.2":                  {identity: issue(own), newest: tls.VersionTLS12},
		"TLS 1.3":                  {identity: issue(own), oldest: tls.VersionTLS13},
		"TLS 1.1":                  {identity: issue(own), oldest: tls.VersionTLS10, newest: tls.VersionTLS11, cause: "protocol version"},
		"expired":                  {identity: authority.IssueUntil(t, time.Now().Add(-time.Hour), own), cause: "expired"},
		"another host":             {identity: issue("other.internal"), cause: "TLS handshake: "},
		"another host, but wanted": {identity: issue("other.internal"), serverName: "other.internal"},
		"the endpoint's host, but another is wanted": {identity: issue(own), serverName: "other.internal", cause: "other.internal"},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeredis.StartTLS(t, &tls.Config{
				Certificates: []tls.Certificate{test.identity.Pair(t)},
				MinVersion:   test.oldest,
				MaxVersion:   test.newest,
			}, fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: allowed} }))
			c := secured(t, server.Addr, redislimit.TLS{RootCAs: authority.Pool(), ServerName: test.serverName})
			if test.cause == "" {
				wantLabel(t, evaluate(t, newLimiter(t, c), request(t, "p", "somebody", 1)), "allowed")
				return
			}
			failsToConnect(t, c, test.cause)
			if n := server.Evaluations(); n != 0 {
				t.Errorf("%d evaluations reached the server", n)
			}
		})
	}
}

// Ensure that nothing but handshakes reaches a port that does not answer them,
// however often it is tried: no command, no password, no key.
func TestTLSNeverFallsBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan []byte, 100)
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			listening.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(callerTimeout)) // the client ends it before
				var all []byte
				for {
					part := make([]byte, 4096)
					n, err := conn.Read(part)
					all = append(all, part[:n]...)
					if err != nil {
						break
					}
					conn.Write([]byte("-ERR Protocol error\r\n"))
				}
				heard <- all
			})
		}
	})
	c := secured(t, listener.Addr().String(), redislimit.TLS{})
	c.Username, c.Password = "weir", "hunter2"
	failsToConnect(t, c, "the port does not speak TLS")
	limiter := newLimiter(t, c)
	for range 3 {
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable connection")
	}
	listener.Close()
	listening.Wait()
	close(heard)
	if len(heard) == 0 {
		t.Fatal("nobody connected: nothing was tested")
	}
	for bytes := range heard {
		const handshake = 22 // a record's first byte
		if len(bytes) == 0 || bytes[0] != handshake {
			t.Errorf("the first bytes are %q", bytes[:min(len(bytes), 40)])
		}
		for _, secret := range []string{"EVALSHA", "HELLO", "AUTH", "hunter2", "weir"} {
			if strings.Contains(strings.ToUpper(string(bytes)), strings.ToUpper(secret)) {
				t.Errorf("%s was sent in clear", secret)
			}
		}
	}
}

// Ensure that a new connection shows the certificate of that moment.
func TestTLSCertificateIsRenewed(t *testing.T) {
	authority := redistest.NewAuthority(t)
	server := fakeredis.StartTLS(t, &tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "127.0.0.1").Pair(t)},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authority.Pool(),
	}, fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: allowed, Close: true} }))
	var asked atomic.Int64
	client := presents(t, authority.Issue(t))
	limiter := newLimiter(t, secured(t, server.Addr, redislimit.TLS{
		RootCAs: authority.Pool(),
		Certificate: func() (*tls.Certificate, error) {
			asked.Add(1)
			return client()
		},
	}))
	awaitLabel(t, limiter, "allowed")
	awaitLabel(t, limiter, "allowed")
	if n := asked.Load(); n != int64(server.Connections()) || n < 2 {
		t.Errorf("asked %d times for %d connections", n, server.Connections())
	}
}

// Ensure that settings of TLS are refused where there is none, and a name that
// no certificate can hold.
func TestNewChecksTLS(t *testing.T) {
	pool := redistest.NewAuthority(t).Pool()
	for name, test := range map[string]struct {
		endpoint string
		secure   redislimit.TLS
		want     string // empty: it is valid
	}{
		"nothing for TLS":    {"rediss://127.0.0.1:6379", redislimit.TLS{}, ""},
		"a name":             {"rediss://127.0.0.1:6379", redislimit.TLS{ServerName: "redis.internal"}, ""},
		"an address":         {"rediss://127.0.0.1:6379", redislimit.TLS{ServerName: "2001:db8::1"}, ""},
		"no name":            {"rediss://127.0.0.1:6379", redislimit.TLS{ServerName: "redis.internal:6379"}, "tls.server-name: must be a host name such as redis.internal"},
		"authorities, clear": {"redis://127.0.0.1:6379", redislimit.TLS{RootCAs: pool}, "tls: must be empty, because the endpoint is not rediss"},
		"a name, clear":      {"redis://127.0.0.1:6379", redislimit.TLS{ServerName: "a"}, "tls: must be empty, because the endpoint is not rediss"},
		"certificate, clear": {"redis://127.0.0.1:6379", redislimit.TLS{Certificate: func() (*tls.Certificate, error) { return nil, nil }}, "tls: must be empty, because the endpoint is not rediss"},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, "", policySpec("p", endlessFive))
			c.Endpoint, c.TLS = test.endpoint, test.secure
			_, err := redislimit.New(c)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

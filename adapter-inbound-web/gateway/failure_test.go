package gateway_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/gateway"
)

// silence holds a connection until the peer gives it up.
func silence(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) }

// saying answers the first bytes of a request with text and closes.
func saying(text string) func(net.Conn) {
	return func(connection net.Conn) {
		_, _ = connection.Read(make([]byte, 4096))
		_, _ = io.WriteString(connection, text)
	}
}

// Ensure that each failure of an upstream is the right problem document, keeps
// the rate-limit fields, names no address, and is logged with its cause.
func TestGateway_UpstreamFailures(t *testing.T) {
	slow := func(c *gateway.Config) { c.ResponseHeaderTimeout = 50 * time.Millisecond }
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = discard()
	untrusted.StartTLS()
	defer untrusted.Close()
	trusting := x509.NewCertPool()
	trusting.AddCert(untrusted.Certificate())

	for _, test := range []struct {
		name, upstream string
		change         func(*gateway.Config)
		status         int
		logged         string
	}{
		{"refused", "http://127.0.0.1:1", nil, 502, "connection refused"},
		{"closed at once", "http://" + listen(t, func(net.Conn) {}), nil, 502, ""},
		{"closed without an answer", "http://" + listen(t, saying("")), nil, 502, "EOF"},
		{"no HTTP", "http://" + listen(t, saying("SSH-2.0-x\r\n\r\n")), nil, 502, "malformed HTTP"},
		{"broken header", "http://" + listen(t, saying("HTTP/1.1 200 OK\r\nA")), nil, 502, "connection broken"},
		{"endless header", "http://" + listen(t, saying("HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", 2<<20)+"\r\n\r\n")), nil, 502, ""},
		{"upgrade that nobody asked for", "http://" + listen(t, saying("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")), nil, 502, ""},
		{"TLS where there is none", "https://" + listen(t, saying("HTTP/1.1 400 Bad Request\r\n\r\n")), nil, 502, ""},
		{"certificate of a stranger", untrusted.URL, nil, 502, "certificate"},
		{"certificate of another name", untrusted.URL, func(c *gateway.Config) { c.RootCAs, c.ServerName = trusting, "other.internal" }, 502, "other.internal"},
		{"unknown host", "http://nowhere.invalid", nil, 502, ""},
		{"no answer", "http://" + listen(t, silence), slow, 504, "timeout awaiting response headers"},
		{"no handshake", "https://" + listen(t, silence), func(c *gateway.Config) { c.TLSTimeout = 50 * time.Millisecond }, 504, "TLS handshake timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := new(lockedBuffer)
			config := to(test.upstream)
			config.Logger = logTo(log)
			if test.change != nil {
				test.change(&config)
			}
			front := serve(t, limited(t, newGateway(t, config)))
			got := send(t, get(t, front.URL, "X-Request-Id", "mine"))
			var problem struct{ Type, Title, Detail, CorrelationID string }
			if err := json.Unmarshal([]byte(got.body), &problem); err != nil {
				t.Fatal(err)
			}
			if got.StatusCode != test.status || problem.Title != http.StatusText(test.status) || problem.Type != "about:blank" || problem.CorrelationID != "mine" {
				t.Errorf("answered %d %s, want %d", got.StatusCode, got.body, test.status)
			}
			if got.Header.Get("Ratelimit") == "" || got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("X-Request-Id") != "mine" {
				t.Errorf("header is %v", got.Header)
			}
			if strings.Contains(got.body, "127.0.0.1") {
				t.Errorf("the document gives the address away: %s", got.body)
			}
			if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, test.logged) || !strings.Contains(text, "correlationId=mine") {
				t.Errorf("log, want %q:\n%s", test.logged, text)
			}
		})
	}
}

// Ensure that an outage does not flood the log.
func TestGateway_OutageIsLoggedOnce(t *testing.T) {
	log := new(lockedBuffer)
	gatewayURL := inFrontOf(t, func(http.ResponseWriter, *http.Request) {}, func(c *gateway.Config) {
		c.Upstream, c.Logger = "http://127.0.0.1:1", logTo(log)
	})
	begin := time.Now()
	for range 50 {
		send(t, get(t, gatewayURL))
	}
	if lines, most := strings.Count(log.String(), "the upstream failed"), 1+int(time.Since(begin)/time.Second); lines < 1 || lines > most {
		t.Errorf("%d lines, want at most %d:\n%s", lines, most, log)
	}
}

// Ensure that an answer which breaks off at the application breaks off for the
// client, of known length or not.
func TestGateway_BrokenAnswer(t *testing.T) {
	for name, text := range map[string]string{
		"known length": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunks":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lockedBuffer)
			config := to("http://" + listen(t, saying(text)))
			config.Logger = logTo(log)
			answer, err := http.DefaultClient.Do(get(t, serve(t, newGateway(t, config)).URL))
			if err != nil {
				return // broken off before the header was read
			}
			defer answer.Body.Close()
			if body, err := io.ReadAll(answer.Body); err == nil {
				t.Errorf("half an answer passes for a whole one: %d %q", answer.StatusCode, body)
			}
			eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "unexpected EOF") })
		})
	}
}

// Ensure that a client that leaves ends its request at the application, and that
// this is no failure of the upstream.
func TestGateway_ClientLeaves(t *testing.T) {
	log := new(lockedBuffer)
	entered, ended := make(chan struct{}), make(chan struct{})
	gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(ended)
	}, func(c *gateway.Config) { c.Logger = logTo(log) })
	ctx, leave := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		answer, err := http.DefaultClient.Do(get(t, gatewayURL).WithContext(ctx))
		if err == nil {
			_ = answer.Body.Close()
		}
		result <- err
	}()
	<-entered
	leave()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the request goes on at the application")
	}
	eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "the client left") })
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure that a client that leaves in the middle of an answer ends it.
func TestGateway_ClientLeavesAStream(t *testing.T) {
	log := new(lockedBuffer)
	ended := make(chan struct{})
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	}, func(c *gateway.Config) { c.Logger = logTo(log) })
	answer, err := http.DefaultClient.Do(get(t, gatewayURL))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the request goes on at the application")
	}
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure that content which the client breaks off, or garbles, is not held
// against the upstream.
func TestGateway_ClientContentBreaks(t *testing.T) {
	for name, text := range map[string]string{
		"garbled": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n",
		"cut off": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf",
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lockedBuffer)
			gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
				func(c *gateway.Config) { c.Logger = logTo(log) })
			connection := dial(t, gatewayURL)
			if _, err := io.WriteString(connection, text); err != nil {
				t.Fatal(err)
			}
			if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(connection)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
				t.Errorf("answered %q, %v", answer, err)
			}
			eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "broke off") })
			if strings.Contains(log.String(), "level=WARN") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// Ensure that an answer may take its time once it has begun, and before that as
// long as is configured. A machine may stall for half a pause, so longer ones are
// tried if need be.
func TestGateway_SlowUpstream(t *testing.T) {
	for _, path := range []string{"/", "/late"} {
		t.Run(path, func(t *testing.T) {
			var got response
			for _, pause := range []time.Duration{100 * time.Millisecond, time.Second, 6 * time.Second} {
				gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/late" {
						<-time.After(pause)
					}
					_, _ = io.WriteString(w, "first ")
					http.NewResponseController(w).Flush()
					<-time.After(2 * pause)
					_, _ = io.WriteString(w, "last")
				}, func(c *gateway.Config) { c.ResponseHeaderTimeout = pause * 3 / 2 })
				begin := time.Now()
				if got = send(t, get(t, gatewayURL+path)); got.StatusCode == http.StatusOK && got.body == "first last" {
					return
				}
				if got.StatusCode != http.StatusGatewayTimeout || time.Since(begin) < pause*3/2 {
					break
				}
			}
			t.Errorf("answered %d %s", got.StatusCode, got.body)
		})
	}
}

// Ensure that a probe says whether the application is there, and does not give
// its address away.
func TestGateway_Probe(t *testing.T) {
	application := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/healthz?deep":
		case "/moved":
			http.Redirect(w, r, "/nowhere", http.StatusFound)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = discard()
	encrypted.StartTLS()
	defer encrypted.Close()
	trusting := x509.NewCertPool()
	trusting.AddCert(encrypted.Certificate())
	expired, outdated := expiredServer(t)
	for _, test := range []struct {
		name, upstream, path string
		roots                *x509.CertPool
		serverName           string
		want                 string // empty: healthy
	}{
		{"a connection will do", application.URL, "", nil, "", ""},
		{"healthy", application.URL, "/healthz?deep", nil, "", ""},
		{"redirects", application.URL, "/moved", nil, "", ""},
		{"fails", application.URL, "/broken", nil, "", "/broken is answered 500"},
		{"refuses", "http://127.0.0.1:1", "", nil, "", "connection refused"},
		{"refuses, with a path", "http://127.0.0.1:1", "/healthz", nil, "", "connection refused"},
		{"unknown host", "http://nowhere.invalid", "", nil, "", "no such host"},
		{"host that may not be looked up", "http://nowhere.onion", "", nil, "", "no suitable address found"},
		{"encrypted", encrypted.URL, "", trusting, "", ""},
		{"encrypted, with a path", encrypted.URL, "/healthz", trusting, "", "/healthz is answered 404"},
		{"encrypted by a stranger", encrypted.URL, "", nil, "", "the upstream's certificate is signed by an unknown authority"},
		{"encrypted by a stranger, with a path", encrypted.URL, "/healthz", nil, "", "the upstream's certificate is signed by an unknown authority"},
		{"encrypted for another name", encrypted.URL, "", trusting, "other.internal", "the upstream's certificate is for another name"},
		{"expired", expired.URL, "", outdated, "", "the upstream's certificate has expired or is not yet valid"},
		{"no TLS", strings.Replace(application.URL, "http:", "https:", 1), "", nil, "", "the upstream speaks no TLS"},
		{"zone", "http://[::1%25nowhere0]:1", "/healthz", nil, "", "connect: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := to(test.upstream)
			config.HealthPath, config.RootCAs, config.ServerName = test.path, test.roots, test.serverName
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := newGateway(t, config).Probe(ctx)
			if (err == nil) != (test.want == "") {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if err != nil && (!strings.Contains(err.Error(), test.want) || namesTheUpstream(err)) {
				t.Errorf("error %v, want %q and no address", err, test.want)
			}
		})
	}
}

func namesTheUpstream(err error) bool {
	return slices.ContainsFunc([]string{"127.0.0.1", "nowhere.", "example"}, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// Ensure that probes and first requests to an https upstream do not disturb each
// other, which the race detector sees.
func TestGateway_ProbesWhileItServes(t *testing.T) {
	application := httptest.NewUnstartedServer(http.NotFoundHandler())
	application.EnableHTTP2 = true
	application.Config.ErrorLog = discard()
	application.StartTLS()
	defer application.Close()
	config := to(application.URL)
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(application.Certificate())
	forward := newGateway(t, config)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := forward.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			w := httptest.NewRecorder()
			forward.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if w.Code != http.StatusNotFound {
				t.Errorf("answered %d", w.Code)
			}
		})
	}
	all.Wait()
}

// Ensure that a failure reaches a client whose content has stalled, and that the
// connection ends with it.
func TestGateway_FailureReachesAStalledClient(t *testing.T) {
	for _, test := range []struct{ name, framing string }{
		{"short", "Content-Length: 100000"},
		{"long", "Content-Length: 1000000"},
		{"chunks", "Transfer-Encoding: chunked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			connection := dial(t, serve(t, newGateway(t, to("http://127.0.0.1:1"))).URL)
			if _, err := io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\n"+test.framing+"\r\n\r\n4\r\nhalf\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(connection)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 502 ") {
				t.Errorf("answered %q, %v", answer, err)
			}
		})
	}
}

// Ensure that a client whose content is only a little late keeps its connection
// after a failure. Where a machine stalls it may be more than a little, and that
// one does not count.
func TestGateway_FailureKeepsTheConnection(t *testing.T) {
	url := serve(t, newGateway(t, to("http://127.0.0.1:1"))).URL
	kept := 0
	for range 5 {
		late, err := sendLate(dial(t, url))
		if err == nil {
			kept++
		} else if late < 500*time.Millisecond {
			t.Errorf("content was %v late: %v", late, err)
		}
	}
	if kept == 0 {
		t.Error("no client kept its connection")
	}
}

// sendLate sends two requests, the content of which is a little late, and gives how
// late that was. The error says how the connection was lost.
func sendLate(connection net.Conn) (late time.Duration, err error) {
	reader := bufio.NewReader(connection)
	for range 2 {
		begin := time.Now()
		if _, err := io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf"); err != nil {
			return late, err
		}
		<-time.After(50 * time.Millisecond)
		_, err := io.WriteString(connection, "half")
		late = max(late, time.Since(begin))
		if err != nil {
			return late, err
		}
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return late, err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return late, err
		}
		if answer.StatusCode != http.StatusBadGateway || answer.Close {
			return late, fmt.Errorf("answered %d, closed %t", answer.StatusCode, answer.Close)
		}
	}
	return late, nil
}

// Ensure that many answers which break off do not flood the log.
func TestGateway_BrokenAnswersAreLoggedOnce(t *testing.T) {
	log := new(lockedBuffer)
	config := to("http://" + listen(t, saying("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")))
	config.Logger = logTo(log)
	url := serve(t, newGateway(t, config)).URL
	begin := time.Now()
	for range 20 {
		answer, err := http.DefaultClient.Do(get(t, url))
		if err != nil {
			continue // broken off before the header was read
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	if lines, most := strings.Count(log.String(), "level=WARN"), 1+int(time.Since(begin)/time.Second); lines < 1 || lines > most {
		t.Errorf("%d lines, want at most %d:\n%s", lines, most, log)
	}
}

// Ensure that probes share a connection, whatever the answer says. Now and then
// net/http gives one up when it is slow to notice that its request is written.
func TestGateway_ProbeKeepsItsConnection(t *testing.T) {
	var connections atomic.Int64
	application := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("healthy ", 4096))
	}))
	application.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	application.Start()
	defer application.Close()
	config := to(application.URL)
	config.HealthPath = "/healthz"
	forward := newGateway(t, config)
	for range 20 {
		if err := forward.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n > 4 {
		t.Errorf("%d connections for 20 probes", n)
	}
}

// expiredServer proves who it is with a certificate whose time is over, and returns
// whom to believe about it.
func expiredServer(t *testing.T) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-2 * time.Hour),
		NotAfter:     time.Now().Add(-time.Hour),
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(content)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = discard()
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{content}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	believed := x509.NewCertPool()
	believed.AddCert(certificate)
	return server, believed
}

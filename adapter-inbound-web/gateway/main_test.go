package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// patience bounds every wait for something that must happen.
const patience = 20 * time.Second

// TestMain lets no test depend on a name server: all names that are asked for are
// unknown.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go denyNames(server)
			return client, nil
		},
	}
	os.Exit(m.Run())
}

// denyNames answers each DNS query on connection, which is taken for one over TCP,
// with its own text, made a response with the code NXDOMAIN.
func denyNames(connection net.Conn) {
	defer connection.Close()
	for {
		size := make([]byte, 2)
		if _, err := io.ReadFull(connection, size); err != nil {
			return
		}
		message := make([]byte, binary.BigEndian.Uint16(size))
		if _, err := io.ReadFull(connection, message); err != nil || len(message) < 4 {
			return
		}
		message[2] |= 1 << 7
		message[3] |= 3
		if _, err := connection.Write(slices.Concat(size, message)); err != nil {
			return
		}
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func logTo(log io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not in %v: %s", patience, what)
}

// to is a configuration that is valid and patient.
func to(upstream string) gateway.Config {
	return gateway.Config{
		Upstream:              upstream,
		DialTimeout:           10 * time.Second,
		TLSTimeout:            10 * time.Second,
		ResponseHeaderTimeout: patience,
		IdleTimeout:           time.Minute,
		MaxIdleConnections:    16,
	}
}

func newGateway(t testing.TB, config gateway.Config) *gateway.Gateway {
	t.Helper()
	forward, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(forward.Close)
	return forward
}

// serve starts a server of handler and ends it with the test.
func serve(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// inFrontOf starts an application and a gateway to it, and returns the URL of
// the gateway.
func inFrontOf(t testing.TB, application http.HandlerFunc, change ...func(*gateway.Config)) string {
	t.Helper()
	config := to(serve(t, application).URL)
	for _, c := range change {
		c(&config)
	}
	return serve(t, newGateway(t, config)).URL
}

// limited puts an edge in front of next that lets everything pass.
func limited(t testing.TB, next http.Handler, routes ...edge.Route) http.Handler {
	t.Helper()
	config := limitedConfig(t)
	config.Routes = routes
	return limitedBy(t, next, config)
}

// open puts an edge in front of next that lets what has the header X-Tenant pass
// because it has no store.
func open(t testing.TB, next http.Handler) http.Handler {
	t.Helper()
	tenant, err := subject.New(subject.Config{Source: "header:X-Tenant"})
	if err != nil {
		t.Fatal(err)
	}
	config := limitedConfig(t)
	config.Layers = &edge.Layers{
		Port:        ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0),
		Levels:      []edge.Level{{Name: "tenant", Policy: "standard", Subject: tenant}},
		FailureMode: edge.FailOpen,
	}
	return limitedBy(t, next, config)
}

func limitedBy(t testing.TB, next http.Handler, config edge.Config) http.Handler {
	t.Helper()
	limit, err := edge.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return limit(next)
}

func limitedConfig(t testing.TB) edge.Config {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "standard", Revision: 1, MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
		Parameters: ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte{1}, pseudonym.MinSecretBytes))
	if err != nil {
		t.Fatal(err)
	}
	return edge.Config{
		Port: ratelimittest.AlwaysAllows(policy), Catalog: ratelimit.NewCatalog(snapshot),
		Pseudonym: secret.SubjectKey(), DefaultPolicy: "standard",
	}
}

type response struct {
	*http.Response
	body string
}

func send(t testing.TB, request *http.Request) response {
	t.Helper()
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{got, string(body)}
}

func newRequest(t testing.TB, method, url, body string, header ...string) *http.Request {
	t.Helper()
	var content io.Reader = http.NoBody
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	return request
}

func get(t testing.TB, url string, header ...string) *http.Request {
	t.Helper()
	return newRequest(t, http.MethodGet, url, "", header...)
}

// dial opens a connection on which a test writes what no client of net/http would.
func dial(t testing.TB, url string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// raw sends text and reads one answer to its end.
func raw(t testing.TB, url, text string) response {
	t.Helper()
	connection := dial(t, url)
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{got, string(body)}
}

// listen is an application that serve plays, connection by connection, and returns
// its host:port. serve must return by itself.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer connection.Close()
				serve(connection)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().String()
}

// discard is for servers whose complaints a test provokes.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }

package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
)

// Ensure that an event reaches the client when the application writes it, and
// not when the answer ends. Of many streams the fastest counts: what a buffer would
// hold, it would hold in each.
func TestGateway_EventsAreNotHeld(t *testing.T) {
	const most = 20 * time.Millisecond
	written := make(chan time.Time, 1)
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		written <- time.Now()
		_, _ = io.WriteString(w, "data: first\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	best := time.Hour
	for begin := time.Now(); best > most && time.Since(begin) < patience/2; {
		ctx, leave := context.WithCancel(t.Context())
		answer, err := http.DefaultClient.Do(get(t, gatewayURL).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(answer.Body).ReadString('\n')
		if err != nil || line != "data: first\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		best = min(best, time.Since(<-written))
		leave()
		_ = answer.Body.Close()
	}
	t.Logf("the first event took %v", best)
	if best > most {
		t.Errorf("the first event took %v, want at most %v", best, most)
	}
}

// Ensure that what an application has written of an answer of known length does
// not wait for the rest.
func TestGateway_KnownLengthIsNotHeld(t *testing.T) {
	release := make(chan struct{})
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "first")
		http.NewResponseController(w).Flush()
		<-release
		_, _ = io.WriteString(w, "other")
	})
	answer, err := http.DefaultClient.Do(get(t, gatewayURL))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	part := make([]byte, 5)
	if _, err := io.ReadFull(answer.Body, part); err != nil || string(part) != "first" {
		t.Fatalf("got %q, %v", part, err)
	}
	close(release)
	if rest, err := io.ReadAll(answer.Body); err != nil || string(rest) != "other" {
		t.Errorf("got %q, %v", rest, err)
	}
}

// Ensure that an application can answer while it is still being sent to.
func TestGateway_StreamsBothWays(t *testing.T) {
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintln(w, "echo", lines.Text())
			control.Flush()
		}
	})
	content, toSend := io.Pipe()
	request := get(t, gatewayURL)
	request.Method, request.Body, request.ContentLength = http.MethodPost, content, -1
	go func() { _, _ = io.WriteString(toSend, "0\n") }()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for i := range 3 {
		if i > 0 {
			fmt.Fprintln(toSend, i)
		}
		if want := fmt.Sprint("echo ", i); !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	_ = toSend.Close()
}

// Ensure that a long request which the application answers before its end leaves
// the server in order, whatever the client does with the rest.
func TestGateway_AnswersBeforeTheRequestEnds(t *testing.T) {
	log := new(lockedBuffer)
	application := "http://" + listen(t, saying("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"))
	for name, upstream := range map[string]string{"refused by the application": application, "no application": "http://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			front := httptest.NewUnstartedServer(newGateway(t, to(upstream)))
			front.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(log, nil), slog.LevelError)
			front.Start()
			defer front.Close()
			for _, content := range []string{"2\r\nhi\r\n0\r\n\r\n", "2\r\nhi\r\n"} {
				connection := dial(t, front.URL)
				_, _ = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"+content)
				answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
				if err != nil || answer.StatusCode < 400 {
					t.Fatalf("answered %v, %v", answer, err)
				}
				_, _ = io.WriteString(connection, "0\r\n\r\n")
				_ = connection.Close()
			}
		})
	}
	if strings.Contains(log.String(), "panic") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure that compressed content and a checksum behind it pass untouched.
func TestGateway_PassesBytesAndTrailers(t *testing.T) {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = io.WriteString(writer, "hello")
	_ = writer.Close()
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Trailer", "Checksum")
		_, _ = w.Write(compressed.Bytes())
		w.Header().Set("Checksum", "abc")
	})
	got := send(t, get(t, gatewayURL, "Accept-Encoding", "gzip"))
	if asked := raw(t, inFrontOf(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header["Accept-Encoding"]) }),
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n"); asked.body != "[]" {
		t.Errorf("the gateway asks for %s, which the client did not", asked.body)
	}
	if got.body != compressed.String() || got.Header.Get("Content-Encoding") != "gzip" || got.Trailer.Get("Checksum") != "abc" {
		t.Errorf("got %q %v %v", got.body, got.Header, got.Trailer)
	}
}

// Ensure that a client which wants to be asked for its content is asked by the
// application, not by the gateway.
func TestGateway_ContentIsAskedForByTheApplication(t *testing.T) {
	read := make(chan error, 1)
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			<-time.After(100 * time.Millisecond) // in which a gateway could ask by itself
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, err := io.Copy(w, r.Body)
		read <- err
	})
	head := func(path string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
	}
	var refusal response
	for range 5 {
		begin := time.Now()
		refusal = raw(t, gatewayURL, head("/refuse"))
		// Whether or not it is asked, content may be sent after a second, which a
		// machine that stalls lets pass.
		if refusal.StatusCode != http.StatusContinue || time.Since(begin) < time.Second {
			break
		}
	}
	if refusal.StatusCode != http.StatusForbidden {
		t.Errorf("answered %d, want the application's refusal", refusal.StatusCode)
	}
	connection := dial(t, gatewayURL)
	_, _ = io.WriteString(connection, head("/accept"))
	reader := bufio.NewReader(connection)
	if line, err := reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = io.WriteString(connection, "hello")
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// Ensure that the application's rate-limit fields give way to those of a decision
// and stay where nothing was decided, whatever comes before the answer.
func TestGateway_RateLimitFields(t *testing.T) {
	application := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("hint") {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		}
		for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Reset", "X-RateLimit-Limit", "X-RateLimit-Used"} {
			w.Header().Set(name, "upstream")
		}
		w.Header().Set("Retry-After", "7")
	}))
	front := serve(t, limited(t, newGateway(t, to(application.URL)), edge.Route{Pattern: "/exempt", Exempt: true}))
	for path, want := range map[string]map[string]string{
		"/":            {"Ratelimit": `"standard";r=99;t=60`, "Ratelimit-Policy": `"standard";q=100;w=60`, "X-Ratelimit-Limit": "100", "X-Ratelimit-Remaining": "99", "Retry-After": "7"},
		"/?hint":       {"Ratelimit": `"standard";r=99;t=60`, "Ratelimit-Policy": `"standard";q=100;w=60`, "X-Ratelimit-Limit": "100", "X-Ratelimit-Remaining": "99", "Retry-After": "7"},
		"/exempt":      {"Ratelimit": "upstream", "Ratelimit-Policy": "upstream", "Ratelimit-Reset": "upstream", "X-Ratelimit-Limit": "upstream", "X-Ratelimit-Used": "upstream", "Retry-After": "7"},
		"/exempt?hint": {"Ratelimit": "upstream", "Ratelimit-Policy": "upstream", "Ratelimit-Reset": "upstream", "X-Ratelimit-Limit": "upstream", "X-Ratelimit-Used": "upstream", "Retry-After": "7"},
	} {
		got := send(t, get(t, front.URL+path))
		for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Reset", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Used", "Retry-After"} {
			if value := strings.Join(got.Header[name], "|"); value != want[name] {
				t.Errorf("%s is answered with %s: %s, want %s", path, name, value, want[name])
			}
		}
	}
}

// Ensure that only the limiter says that an answer is degraded, and that the
// application's rate-limit fields do not stand in for those that it cannot give.
func TestGateway_DegradedField(t *testing.T) {
	application := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Weir-Degraded") != "" {
			t.Error("the application hears of it from the client")
		}
		if r.URL.Query().Has("hint") {
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Set("Weir-Degraded", "upstream")
		w.Header().Set("RateLimit", "upstream")
	}))
	for name, test := range map[string]struct {
		edge                func(http.Handler) http.Handler
		degraded, rateLimit string
	}{
		"passes without a decision": {func(next http.Handler) http.Handler { return open(t, next) }, "fail-open", ""},
		"decided":                   {func(next http.Handler) http.Handler { return limited(t, next) }, "", `"standard";r=99;t=60`},
		"not limited":               {func(next http.Handler) http.Handler { return next }, "", "upstream"},
	} {
		front := serve(t, test.edge(newGateway(t, to(application.URL))))
		for _, path := range []string{"/", "/?hint"} {
			got := send(t, get(t, front.URL+path, "Weir-Degraded", "client", "X-Tenant", "acme"))
			if degraded := strings.Join(got.Header["Weir-Degraded"], "|"); degraded != test.degraded {
				t.Errorf("%s: %s is answered with %q, want %q", name, path, degraded, test.degraded)
			}
			if rateLimit := strings.Join(got.Header["Ratelimit"], "|"); rateLimit != test.rateLimit {
				t.Errorf("%s: %s is answered with RateLimit %q, want %q", name, path, rateLimit, test.rateLimit)
			}
		}
	}
}

// Ensure that the newest version of HTTP is spoken that the upstream knows.
func TestGateway_ProtocolOfTheUpstream(t *testing.T) {
	say := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	inClear := func(http1 bool) *httptest.Server {
		server := httptest.NewUnstartedServer(say)
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(http1)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		return server
	}
	encrypted := func(http2 bool) *httptest.Server {
		server := httptest.NewUnstartedServer(say)
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	for _, test := range []struct {
		name   string
		server *httptest.Server
		h2c    bool
		want   string
	}{
		{"http", inClear(true), false, "HTTP/1.1"},
		{"h2c", inClear(false), true, "HTTP/2.0"},
		{"https", encrypted(true), false, "HTTP/2.0"},
		{"https of old", encrypted(false), false, "HTTP/1.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := to(test.server.URL)
			config.H2C = test.h2c
			if certificate := test.server.Certificate(); certificate != nil {
				config.ServerName, config.RootCAs = "example.com", x509.NewCertPool()
				config.RootCAs.AddCert(certificate)
			}
			if got := send(t, get(t, serve(t, newGateway(t, config)).URL)); got.body != test.want {
				t.Errorf("the application sees %d %s, want %s", got.StatusCode, got.body, test.want)
			}
		})
	}
}

// Ensure that connections to the application are used again. Now and then net/http
// gives one up when it is slow to notice that its request is written.
func TestGateway_KeepsConnections(t *testing.T) {
	connections := make(map[string]bool)
	gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) { connections[r.RemoteAddr] = true })
	for range 20 {
		send(t, get(t, gatewayURL))
	}
	if len(connections) > 4 {
		t.Errorf("the application saw %d connections for 20 requests", len(connections))
	}
}

// Ensure that no proxy in the environment comes between. It is read once in the
// life of a process, so another process asks.
func TestGateway_AsksNoProxy(t *testing.T) {
	const behind = "GATEWAY_TEST_BEHIND_PROXY"
	if os.Getenv(behind) != "" {
		w := httptest.NewRecorder()
		newGateway(t, to("http://nowhere.invalid")).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		if w.Code != http.StatusBadGateway {
			t.Errorf("answered %d", w.Code)
		}
		return
	}
	proxy := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), behind+"=1", "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

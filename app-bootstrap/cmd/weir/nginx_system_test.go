//go:build system

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// exampleOfNginx is the file that the documentation shows. The test changes the
// ports of its three addresses, and nothing else.
const exampleOfNginx = "../../../examples/nginx.conf"

// The addresses of the example, with what stands behind them there.
const (
	exampleClients     = "127.0.0.1:8000;   # where clients come"
	exampleWeir        = "127.0.0.1:8082;   # app.web.authorize-address"
	exampleApplication = "127.0.0.1:9000;   # the application"
)

// nginxMain is the least that the example needs around it. All that nginx writes
// stays below its prefix.
const nginxMain = `
daemon off;
pid nginx.pid;
error_log stderr warn;
worker_processes 1;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include example.conf;
}
`

var authorizeAddress = regexp.MustCompile(`authorizeAddress=(\S+)`)

// startWithAuthorize starts a weir that proxies may ask, and returns the address
// for them.
func startWithAuthorize(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	weir := start(t, append(args, "--set", "app.web.authorize-address=127.0.0.1:0")...)
	found := authorizeAddress.FindStringSubmatch(weir.stderr.String())
	if found == nil {
		t.Fatalf("weir does not say where proxies are answered:\n%s", weir.stderr)
	}
	return weir, found[1]
}

// nginx is a running one with the example's configuration.
type nginx struct {
	url    string
	stderr *lockedBuffer
}

// startNginx starts nginx in a directory of its own, and ends it with the test.
func startNginx(t *testing.T, weir, application string) *nginx {
	t.Helper()
	for range 5 {
		if server := tryNginx(t, weir, application); server != nil {
			return server
		}
	}
	t.Fatal("nginx finds each port taken")
	return nil
}

// tryNginx is startNginx for a port that somebody else may take in the meantime: nginx
// cannot be asked which one it got, so one is chosen for it. Then it returns nil.
func tryNginx(t *testing.T, weir, application string) *nginx {
	t.Helper()
	example, err := os.ReadFile(exampleOfNginx)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	clients := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	text := string(example)
	for marked, address := range map[string]string{exampleClients: clients, exampleWeir: weir, exampleApplication: application} {
		if strings.Count(text, marked) != 1 {
			t.Fatalf("%s does not have %q once", exampleOfNginx, marked)
		}
		text = strings.Replace(text, marked, address+";", 1)
	}

	prefix := t.TempDir()
	// nginx's worker may be another user than the test's.
	if err := os.Chmod(prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"nginx.conf": nginxMain, "example.conf": text} {
		if err := os.WriteFile(filepath.Join(prefix, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := &nginx{url: "http://" + clients, stderr: new(lockedBuffer)}
	command := exec.Command("nginx", "-p", prefix, "-c", "nginx.conf", "-e", "stderr")
	command.Stderr = server.stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = command.Wait() // the log says why
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // the master ends its worker
		<-exited
	})
	taken := false
	eventually(t, "nginx answers", func() bool {
		select {
		case <-exited:
			if taken = strings.Contains(server.stderr.String(), "Address already in use"); !taken {
				t.Fatalf("nginx ended early:\n%s", server.stderr)
			}
			return true
		default:
		}
		// It is written once the port is nginx's own.
		if _, err := os.Stat(filepath.Join(prefix, "nginx.pid")); err != nil {
			return false
		}
		connection, err := net.Dial("tcp", clients)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	if taken {
		return nil
	}
	return server
}

// silencedFields are rate-limit header fields that the example neither passes on
// nor writes.
var silencedFields = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

// silenced returns what header has of silencedFields.
func silenced(header http.Header) []string {
	return slices.DeleteFunc(slices.Clone(silencedFields), func(field string) bool { return len(header.Values(field)) == 0 })
}

// application counts what reaches it, and keeps the last request.
type application struct {
	*httptest.Server
	reached atomic.Int64
	last    atomic.Pointer[http.Request]
}

func startApplication(t *testing.T) *application {
	t.Helper()
	a := new(application)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.reached.Add(1)
		a.last.Store(r)
		// An application with limits of its own must not contradict.
		w.Header().Set("RateLimit", `"own";r=1`)
		for _, field := range silencedFields {
			w.Header().Set(field, "1")
		}
		if status, err := strconv.Atoi(r.Header.Get("Answer-With")); err == nil {
			w.WriteHeader(status)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *application) address() string { return strings.TrimPrefix(a.URL, "http://") }

// Ensure that with nginx in front, run with the example's configuration, a
// request that may pass reaches the application as it was sent, a denial is 429
// with Retry-After and RateLimit, and whatever keeps Weir from deciding is 503.
func TestSystemNginx(t *testing.T) {
	server := redistest.Start(t, redistest.Lanes(t)[0])
	app := startApplication(t)
	weir, authorize := startWithAuthorize(t, withRedis(t, server.Addr)...)
	front := startNginx(t, authorize, app.address())

	for i := 1; i <= limit; i++ {
		got := send(t, newRequest(http.MethodPost, front.url+"/quotes/7?a=b%2Fc", "content"))
		if got.status != http.StatusOK || got.body != "POST /quotes/7?a=b%2Fc content" {
			t.Fatalf("request %d is answered %d %s\n%s", i, got.status, got.body, front.stderr)
		}
		want := regexp.MustCompile(`^"edge";r=` + strconv.Itoa(limit-i) + `;t=\d+$`)
		if fields := got.header.Values("RateLimit"); len(fields) != 1 || !want.MatchString(fields[0]) {
			t.Fatalf("request %d has RateLimit %q, want %s", i, fields, want)
		}
		if got.header.Get("RateLimit-Policy") == "" || got.header.Get("Retry-After") != "" {
			t.Fatalf("request %d has %v", i, got.header)
		}
		if told := silenced(got.header); len(told) > 0 {
			t.Fatalf("request %d is told the application's %q", i, told)
		}
	}

	denied := send(t, newRequest(http.MethodPost, front.url+"/quotes/7", "content"))
	if denied.status != http.StatusTooManyRequests {
		t.Fatalf("a denial is answered %d %s\n%s", denied.status, denied.body, front.stderr)
	}
	for field, want := range map[string]string{
		"Retry-After":      `^[1-9]\d*$`,
		"RateLimit":        `^"edge";r=0;t=\d+$`,
		"RateLimit-Policy": `^"edge";q=100;w=\d+$`,
		"X-Request-Id":     `^[A-Z2-7]{26}$`,
		"Cache-Control":    `^no-store$`,
		"Content-Type":     `^application/problem\+json$`,
	} {
		if values := denied.header.Values(field); len(values) != 1 || !regexp.MustCompile(want).MatchString(values[0]) {
			t.Errorf("a denial has %s: %q, want %s", field, values, want)
		}
	}
	if !strings.Contains(denied.body, "#quota-exceeded") {
		t.Errorf("a denial has the content %s", denied.body)
	}
	t.Logf("denied: %d Retry-After: %s RateLimit: %s", denied.status, denied.header.Get("Retry-After"), denied.header.Get("RateLimit"))
	if got := app.reached.Load(); got != limit {
		t.Errorf("%d requests reached the application, want %d", got, limit)
	}

	server.Stop(t)
	undecided := send(t, get(front.url+"/quotes/7"))
	if undecided.status != http.StatusServiceUnavailable || undecided.header.Get("Retry-After") == "" || !strings.Contains(undecided.body, "#temporary-reduced-capacity") {
		t.Errorf("without a store it answers %d %v %s", undecided.status, undecided.header, undecided.body)
	}
	t.Logf("without a store: %d Retry-After: %s", undecided.status, undecided.header.Get("Retry-After"))

	weir.stop(t)
	if got := send(t, get(front.url+"/quotes/7")); got.status != http.StatusServiceUnavailable {
		t.Errorf("without weir it answers %d %s", got.status, got.body)
	}
	if got := app.reached.Load(); got != limit {
		t.Errorf("%d requests reached the application, want %d", got, limit)
	}
}

// Ensure that a client that sends the fields by which nginx and Weir speak of it
// changes nothing: neither whom it is taken for, nor what it pays, nor what it
// or the application is told.
func TestSystemNginxIgnoresWhatClientsClaim(t *testing.T) {
	claims := map[string][]string{
		"nothing":             nil,
		"an address":          {"X-Forwarded-For", "198.51.100.1"},
		"a chain":             {"X-Forwarded-For", "198.51.100.1, 127.0.0.1, 10.0.0.1"},
		"Forwarded":           {"Forwarded", "for=198.51.100.1"},
		"X-Real-IP":           {"X-Real-IP", "198.51.100.1"},
		"another URI":         {"X-Original-URI", "/health"},
		"another method":      {"X-Original-Method", "OPTIONS"},
		"an exempt request":   {"X-Original-URI", "/health", "X-Original-Method", "GET"},
		"the other URI":       {"X-Forwarded-Uri", "/health"},
		"the other method":    {"X-Forwarded-Method", "OPTIONS"},
		"the other family":    {"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/health", "X-Forwarded-Host", "free.example.org"},
		"with an underscore":  {"X_Original_URI", "/health", "X_Forwarded_For", "198.51.100.1"},
		"both families":       {"X-Original-URI", "/health", "X-Original-Method", "GET", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/health"},
		"quota":               {"RateLimit", `"edge";r=1000;t=1`, "RateLimit-Policy", `"edge";q=1000`, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "1000", "X-RateLimit-Reset", "1"},
		"hop by hop":          {"Connection", "X-Original-URI, X-Original-Method, X-Forwarded-For"},
		"a token":             {"Weir-Management-Token", "guess"},
		"content that is not": {"X-Original-Content-Length", "1", "Expect", "100-continue"},
	}
	server := redistest.Primary(t)
	app := startApplication(t)
	config := withRedis(t, server.Addr)
	addRoutes(t, config[1], `
    routes:
      - {pattern: "GET /health", exempt: true}
      - {pattern: "free.example.org/", exempt: true}
      - {pattern: "POST /quotes", cost: 2}
`)
	weir, authorize := startWithAuthorize(t, config...)
	front := startNginx(t, authorize, app.address())

	remaining := limit
	for name, fields := range claims {
		remaining -= 2
		got := send(t, newRequest(http.MethodPost, front.url+"/quotes", "content", fields...))
		want := regexp.MustCompile(`^"edge";r=` + strconv.Itoa(remaining) + `;t=\d+$`)
		if values := got.header.Values("RateLimit"); got.status != http.StatusOK || len(values) != 1 || !want.MatchString(values[0]) {
			t.Errorf("%s: %d, RateLimit %q, want %s", name, got.status, values, want)
		}
		told := app.last.Load().Header
		if values := slices.Concat(told.Values("RateLimit"), told.Values("RateLimit-Policy"), silenced(told)); len(values) > 0 {
			t.Errorf("%s: the application is told %q", name, values)
		}
		if values := app.last.Load().Header.Values("X-Forwarded-For"); len(values) != 1 || values[0] != "127.0.0.1" {
			t.Errorf("%s: the application is told of %q", name, values)
		}
	}

	// The same once the quota is used up: no claim gets anything through.
	for remaining > 0 {
		remaining -= 2
		send(t, newRequest(http.MethodPost, front.url+"/quotes", "content"))
	}
	reached := app.reached.Load()
	for name, fields := range claims {
		if got := send(t, newRequest(http.MethodPost, front.url+"/quotes", "content", fields...)); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: answered %d %v, want a denial", name, got.status, got.header)
		}
	}
	if got := app.reached.Load(); got != reached {
		t.Errorf("%d requests reached the application past their quota", got-reached)
	}
	// The positive control: what is exempt does pass.
	if got := send(t, get(front.url+"/health")); got.status != http.StatusOK || got.header.Get("RateLimit") != "" {
		t.Errorf("an exempt request is answered %d %v", got.status, got.header)
	}
	weir.stop(t)
}

// Ensure that what is refused for another reason than a quota does not look like
// a denial, and that the application's own refusals stay as they are.
func TestSystemNginxOtherRefusals(t *testing.T) {
	app := startApplication(t)
	weir, authorize := startWithAuthorize(t, "--set", "app.web.default-route=reject")
	front := startNginx(t, authorize, app.address())
	if got := send(t, get(front.url+"/")); got.status != http.StatusNotFound {
		t.Errorf("a request without route is answered %d", got.status)
	}
	weir.stop(t)

	weir, authorize = startWithAuthorize(t, "--set", "app.web.subject.source=header:X-Api-Key")
	front = startNginx(t, authorize, app.address())
	if got := send(t, get(front.url+"/")); got.status != http.StatusUnauthorized {
		t.Errorf("a request without subject is answered %d", got.status)
	}
	for _, want := range []int{http.StatusOK, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError} {
		got := send(t, get(front.url+"/", "X-Api-Key", "k", "Answer-With", strconv.Itoa(want)))
		if got.status != want || got.header.Get("Retry-After") != "" || len(got.header.Values("RateLimit")) != 1 || len(silenced(got.header)) > 0 {
			t.Errorf("what the application answers with %d is answered %d %v", want, got.status, got.header)
		}
	}
	weir.stop(t)

	// A Weir that does not trust this nginx.
	untrusting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer untrusting.Close()
	front = startNginx(t, strings.TrimPrefix(untrusting.URL, "http://"), app.address())
	if got := send(t, get(front.url+"/")); got.status != http.StatusServiceUnavailable {
		t.Errorf("a Weir that does not trust it makes it answer %d", got.status)
	}
}

// addRoutes puts routes into the section web of the configuration file.
func addRoutes(t *testing.T, file, routes string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("\n  web:"), []byte("\n  web:"+strings.TrimRight(routes, "\n")), 1)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

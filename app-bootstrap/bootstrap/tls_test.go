package bootstrap

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/app-bootstrap/config"
)

// writePair writes a new certificate for name with its key.
func writePair(t *testing.T, files config.TLS, name string) {
	t.Helper()
	pair := redistest.NewAuthority(t).Issue(t, name)
	write(t, files.CertificateFile, pair.Certificate)
	write(t, files.KeyFile, pair.Key)
}

// write replaces path as a tool that renews certificates does, so that the file
// is another one even within the resolution of its times.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// spoil makes path useless without a change of its state, as taking away the right
// to read it does, which would not stop root.
func spoil(t *testing.T, path string) (restore func()) {
	t.Helper()
	state, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inPlace := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, state.ModTime(), state.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	inPlace(bytes.Repeat([]byte{'x'}, len(content)))
	return func() { inPlace(content) }
}

func newFiles(t *testing.T) config.TLS {
	t.Helper()
	directory := t.TempDir()
	return config.TLS{CertificateFile: filepath.Join(directory, "tls.crt"), KeyFile: filepath.Join(directory, "tls.key")}
}

// Ensure that a renewed pair is used within a second, that a broken one is not,
// and that this is said once.
func TestCertificate_IsRenewed(t *testing.T) {
	files := newFiles(t)
	writePair(t, files, "first")
	synctest.Test(t, func(t *testing.T) {
		log := new(lockedBuffer)
		c, err := newCertificate("app.web.tls", files, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		name := func() string {
			pair, err := c.latest()
			if err != nil {
				t.Fatal(err)
			}
			return pair.Leaf.Subject.CommonName
		}
		expect := func(what, want string) {
			t.Helper()
			if got := name(); got != want {
				t.Errorf("%s: the pair is %s, want %s", what, got, want)
			}
		}
		expect("at the start", "first")
		writePair(t, files, "second")
		expect("within the second", "first")
		time.Sleep(lookEvery)
		expect("after a second", "second")

		write(t, files.KeyFile, []byte("nonsense"))
		for range 3 {
			time.Sleep(lookEvery)
			expect("while the key is broken", "second")
		}
		if err := os.Remove(files.KeyFile); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(lookEvery)
			expect("while there is no key", "second")
		}
		writePair(t, files, "third")
		time.Sleep(lookEvery)
		expect("after the repair", "third")

		writePair(t, files, "fourth")
		restore := spoil(t, files.KeyFile)
		for range 3 {
			time.Sleep(lookEvery)
			expect("while the key cannot be read", "third")
		}
		restore()
		time.Sleep(lookEvery)
		expect("after a repair that the state of the files does not show", "fourth")
		if lines := strings.Count(log.String(), "level=ERROR"); lines != 3 {
			t.Errorf("%d errors are logged, want one for each state of the files:\n%s", lines, log)
		}
	})
}

// Ensure that files that became unreadable since they were checked stop the
// start by their keys.
func TestCertificate_BrokenAtTheStart(t *testing.T) {
	files := newFiles(t)
	for name, prepare := range map[string]func(){
		"missing": func() {},
		"broken":  func() { write(t, files.CertificateFile, []byte("x")); write(t, files.KeyFile, []byte("x")) },
	} {
		prepare()
		cfg := localConfig(t)
		cfg.Web.TLS = files
		if _, err := New(cfg, nil); err == nil || !strings.Contains(err.Error(), "app.web.tls.cert-file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Ensure that the public listener speaks TLS 1.2 and newer, and HTTP/2 to those
// who ask for it, and that the other listener stays as it is.
func TestApp_TLS(t *testing.T) {
	files := newFiles(t)
	writePair(t, files, "weir.example")
	app := run(t, localConfig(t, "app.web.tls.cert-file="+files.CertificateFile, "app.web.tls.key-file="+files.KeyFile))
	for _, test := range []struct {
		name  string
		most  uint16
		http2 bool
		want  string // empty: no connection
	}{
		{"HTTP/2", 0, true, "HTTP/2.0"},
		{"HTTP/1.1", 0, false, "HTTP/1.1"},
		{"TLS 1.2", tls.VersionTLS12, true, "HTTP/2.0"},
		{"TLS 1.1", tls.VersionTLS11, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport := &http.Transport{
				TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MaxVersion: test.most},
				ForceAttemptHTTP2: test.http2,
				DisableKeepAlives: true,
			}
			client := http.Client{Transport: transport, Timeout: patience}
			response, err := client.Get("https://" + app.public.Addr() + "/")
			if test.want == "" {
				if err == nil {
					t.Errorf("answered %s", response.Proto)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.Proto != test.want || response.Header.Get("RateLimit") == "" || response.TLS.PeerCertificates[0].Subject.CommonName != "weir.example" {
				t.Errorf("answered %s %v", response.Proto, response.Header)
			}
		})
	}
	if status, _ := get(t, "http://"+app.management.Addr()+"/livez"); status != http.StatusOK {
		t.Errorf("/livez is answered %d", status)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that HTTP/2 in clear is spoken where it is configured, and only there,
// and that a stop drains it.
func TestApp_H2C(t *testing.T) {
	for _, test := range []struct {
		set  string
		want string // empty: no answer
	}{{"app.web.h2c=true", "HTTP/2.0"}, {"app.web.h2c=false", ""}} {
		t.Run(test.set, func(t *testing.T) {
			app := run(t, localConfig(t, test.set))
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			client := http.Client{Transport: transport, Timeout: patience}
			response, err := client.Get("http://" + app.public.Addr() + "/")
			if err == nil {
				_ = response.Body.Close()
			}
			if (err == nil) != (test.want != "") || err == nil && response.Proto != test.want {
				t.Errorf("got %v, %v, want %q", response, err, test.want)
			}
			if status, _ := get(t, "http://"+app.public.Addr()+"/"); status != http.StatusOK {
				t.Errorf("HTTP/1.1 is answered %d", status)
			}
			app.cancel()
			if err := app.wait(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ensure that an application is reached through the edge, that readiness follows
// it, and that nothing is left behind.
func TestApp_Forwards(t *testing.T) {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For")+" "+r.RequestURI)
	}))
	defer application.Close()
	app := run(t, localConfig(t, "app.web.upstream="+application.URL, "app.web.subject.trusted-proxies=127.0.0.1"))
	request, err := http.NewRequest(http.MethodGet, "http://"+app.public.Addr()+"/a%2Fb//c?d", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", "203.0.113.7")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || string(body) != "203.0.113.7, 127.0.0.1 /a%2Fb/c?d" || response.Header.Get("RateLimit") == "" {
		t.Errorf("answered %d %s %v", response.StatusCode, body, response.Header)
	}
	ready := "http://" + app.management.Addr() + "/readyz"
	if status, text := get(t, ready); status != http.StatusOK {
		t.Errorf("/readyz is answered %d %s", status, text)
	}
	application.Close()
	eventually(t, "the upstream is missing", func() bool {
		status, text := get(t, ready)
		return status == http.StatusServiceUnavailable && strings.Contains(text, `"upstream"`)
	})
	if status, text := get(t, "http://"+app.public.Addr()+"/"); status != http.StatusBadGateway {
		t.Errorf("answered %d %s", status, text)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that of a family which the proxies do not write nothing is believed: their
// clients wrote it.
func TestApp_ForwardsTheFamilyOfTheProxies(t *testing.T) {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	}))
	defer application.Close()
	app := run(t, localConfig(t, "app.web.upstream="+application.URL,
		"app.web.subject.trusted-proxies=127.0.0.1", "app.web.subject.forwarded=forwarded"))
	request, err := http.NewRequest(http.MethodGet, "http://"+app.public.Addr()+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Forwarded", "for=203.0.113.7")
	request.Header.Set("X-Forwarded-For", "203.0.113.8")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || string(body) != "127.0.0.1" {
		t.Errorf("the application sees %d %q, %v", response.StatusCode, body, err)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that an upgraded connection, which has no end, does not hold up a stop
// and is cut by it.
func TestApp_StopCutsUpgradedConnections(t *testing.T) {
	closed := make(chan struct{})
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer close(closed)
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(connection, buffered)
	}))
	defer application.Close()
	app := run(t, localConfig(t, "app.web.upstream="+application.URL, "app.web.shutdown.drain=1m"))
	connection, err := net.Dial("tcp", app.public.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = io.WriteString(connection, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %v, %v", response, err)
	}
	_, _ = io.WriteString(connection, "hello\n")
	if line, err := reader.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the connection to the application stays open")
	}
}

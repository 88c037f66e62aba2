package bootstrap

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// started is a server of handler that is stopped by the test.
func started(t *testing.T, drain time.Duration, log io.Writer, handler http.HandlerFunc) *server {
	t.Helper()
	s := newServer(serverConfig{
		key:      "app.web.address",
		address:  "127.0.0.1:0",
		handler:  handler,
		drain:    drain,
		logger:   slog.New(slog.NewTextHandler(log, nil)),
		failures: make(chan error, 1),
	})
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.http.Close() })
	return s
}

type answered struct {
	body string
	err  error
}

func ask(s *server) <-chan answered {
	result := make(chan answered, 1)
	go func() {
		response, err := http.Get("http://" + s.Addr())
		if err != nil {
			result <- answered{err: err}
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		result <- answered{string(body), err}
	}()
	return result
}

// Ensure that a stop lets a running request end, and takes no new one.
func TestServer_DrainsRunningRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := started(t, patience, io.Discard, func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	answer := ask(s)
	<-entered

	stopped := make(chan error, 1)
	go func() { stopped <- s.stop(t.Context()) }()
	<-s.served // the listener is closed by now
	if _, err := http.Get("http://" + s.Addr()); err == nil {
		t.Error("a request was taken during the drain")
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped before the request ended: %v", err)
	default:
	}
	close(release)
	if got := <-answer; got.err != nil || got.body != "done" {
		t.Errorf("the running request was answered %+v", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Ensure that a request that outlasts the drain is cut off and logged.
func TestServer_CutsWhatOutlastsTheDrain(t *testing.T) {
	log := new(lockedBuffer)
	entered := make(chan struct{})
	s := started(t, 10*time.Millisecond, log, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	answer := ask(s)
	<-entered
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case got := <-answer:
		if got.err == nil {
			t.Errorf("the request was answered %+v, want it cut off", got)
		}
	case <-time.After(patience):
		t.Error("the request goes on")
	}
	if !strings.Contains(log.String(), "cut off") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure that what net/http logs does not name the client.
func TestServer_LogsNoPeer(t *testing.T) {
	log := new(lockedBuffer)
	s := started(t, 0, log, func(http.ResponseWriter, *http.Request) { panic("planted") })
	if got := <-ask(s); got.err == nil {
		t.Fatalf("answered %+v", got)
	}
	eventually(t, "the panic is logged", func() bool { return strings.Contains(log.String(), "planted") })
	if text := log.String(); strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "[peer]") {
		t.Errorf("log:\n%s", text)
	}
}

// Ensure that peers of both families are taken out, and nothing else.
func TestErrorLog(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"http: panic serving 192.0.2.1:4711: boom", "http: panic serving [peer]: boom"},
		{"http: panic serving [2001:db8::1]:4711: boom", "http: panic serving [peer]: boom"},
		{"http: panic serving [fe80::1%eth0]:4711: boom", "http: panic serving [peer]: boom"},
		{"http: superfluous call at main.go:17", "http: superfluous call at main.go:17"},
	} {
		log := new(lockedBuffer)
		if _, err := (errorLog{slog.New(slog.NewTextHandler(log, nil))}).Write([]byte(test.line + "\n")); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), `"`+test.want+`"`) {
			t.Errorf("%q is logged as %s", test.line, log)
		}
	}
}

// Ensure that a server that was never started can be stopped.
func TestServer_StopWithoutStart(t *testing.T) {
	s := newServer(serverConfig{key: "app.web.address", address: "127.0.0.1:0", logger: silent})
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := (&ListenError{Key: "k", Address: "a", Err: io.EOF}); !errors.Is(err, io.EOF) {
		t.Error("a ListenError does not unwrap")
	}
}

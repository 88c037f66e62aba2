package bootstrap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"example.com/weir/app-bootstrap/config"
)

// patience bounds every wait for something that must happen.
const patience = 20 * time.Second

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

// running is an App that runs in the background of a test.
type running struct {
	*App
	log    *lockedBuffer
	cancel context.CancelFunc
	result chan error
}

func run(t *testing.T, cfg config.Config) *running {
	t.Helper()
	log := new(lockedBuffer)
	app, err := New(cfg, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	return runApp(t, app, log)
}

// runApp runs app, which writes to log.
func runApp(t *testing.T, app *App, log *lockedBuffer) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{App: app, log: log, cancel: cancel, result: make(chan error, 1)}
	go func() { r.result <- app.Run(ctx) }()
	t.Cleanup(cancel)
	eventually(t, "the app runs", func() bool { return strings.Contains(log.String(), "weir is running") })
	return r
}

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.result:
		return err
	case <-time.After(patience):
		t.Fatalf("the app did not stop; its log:\n%s", r.log)
		return nil
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not in %v: %s", patience, what)
}

// expectNoLeak gives goroutines that did not exist before their time to end.
func expectNoLeak(t *testing.T, existing goleak.Option) {
	t.Helper()
	if err := leak(existing); err != nil {
		t.Error(err)
	}
}

// leak names goroutines that did not exist before and do not end.
func leak(existing goleak.Option) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := goleak.Find(existing)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	status, body, err := try(url)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// try is get for what may be closed.
func try(url string) (status int, body string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Ensure that an app serves on both listeners and leaves nothing behind.
func TestApp_RunsAndStops(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	app := run(t, localConfig(t))
	for _, url := range []string{
		"http://" + app.public.Addr() + "/anything",
		"http://" + app.management.Addr() + "/livez",
		"http://" + app.management.Addr() + "/readyz",
	} {
		if status, body := get(t, url); status != http.StatusOK {
			t.Errorf("%s answers %d %s", url, status, body)
		}
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
	expectNoLeak(t, existing)
}

// Ensure that scrapers get a page, token or not, although nothing has been counted.
func TestApp_Metrics(t *testing.T) {
	app := run(t, localConfig(t, "app.web.management-token=secret"))
	if status, body := get(t, "http://"+app.management.Addr()+"/metrics"); status != http.StatusOK || body != "" {
		t.Errorf("/metrics answers %d %q", status, body)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that a stop withdraws readiness first and keeps both listeners open
// for the delay. A machine may stall for all of it, so longer ones are tried if
// need be.
func TestApp_WithdrawsReadinessBeforeItStops(t *testing.T) {
	for _, delay := range []time.Duration{time.Second, 4 * time.Second, 15 * time.Second} {
		app := run(t, localConfig(t, "app.web.shutdown.delay="+delay.String()))
		begin := time.Now()
		inTime := func() bool { return time.Since(begin) < delay }
		app.cancel()
		withdrawn := false
		for ; !withdrawn && inTime() && !t.Failed(); time.Sleep(5 * time.Millisecond) {
			status, body, err := try("http://" + app.management.Addr() + "/readyz")
			if err != nil && inTime() {
				t.Errorf("the management listener does not answer during the delay: %v", err)
			}
			withdrawn = status == http.StatusServiceUnavailable && strings.Contains(body, "shutting-down")
		}
		status, _, err := try("http://" + app.public.Addr() + "/")
		judged := withdrawn && inTime()
		if judged && (err != nil || status != http.StatusOK) {
			t.Errorf("the public listener answers %d, %v during the delay, want 200", status, err)
		}
		if err := app.wait(t); err != nil {
			t.Error(err)
		}
		if judged || t.Failed() {
			return
		}
	}
	t.Error("readiness is not withdrawn during the delay")
}

// Ensure that the public listener drains before the management listener closes:
// while a request is held, whoever asks learns that the process lives and wants
// no more.
func TestApp_DrainsPublicBeforeManagement(t *testing.T) {
	log := new(lockedBuffer)
	app, err := New(localConfig(t, "app.web.shutdown.drain=1m"), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	app.public.http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	})
	r := runApp(t, app, log)
	answer := ask(app.public.server)
	<-entered
	r.cancel()
	eventually(t, "the public listener is closed", func() bool {
		connection, err := net.Dial("tcp", app.public.Addr())
		if err == nil {
			_ = connection.Close()
		}
		return err != nil
	})
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/livez": http.StatusOK} {
		if status, body := get(t, "http://"+app.management.Addr()+path); status != want {
			t.Errorf("%s answers %d %s during the drain, want %d", path, status, body, want)
		}
	}
	close(release)
	if got := <-answer; got.err != nil {
		t.Errorf("the held request: %v", got.err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that OPTIONS * is a request like any other: limited on the public
// listener, unknown on the other.
func TestApp_GeneralOptions(t *testing.T) {
	app := run(t, localConfig(t))
	if got := generalOptions(t, app.public.Addr()); got.StatusCode != http.StatusOK || got.Header.Get("RateLimit") == "" {
		t.Errorf("the public listener answers %d %v, want it limited", got.StatusCode, got.Header)
	}
	if got := generalOptions(t, app.management.Addr()); got.StatusCode != http.StatusNotFound {
		t.Errorf("the management listener answers %d, want 404", got.StatusCode)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

func generalOptions(t *testing.T, address string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// The tests below run in bubbles of virtual time. No listener opens in them: a
// bubble's time stands still while anybody waits for the network.

// Ensure that the program fails in bounded time when a part ignores the context
// of its start.
func TestApp_OutlastsAStuckStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		// Who decides is made before the listeners, so its hook comes first.
		stuck := fx.Decorate(func(lifecycle fx.Lifecycle, l limits) limits {
			lifecycle.Append(fx.StartHook(func() { <-release }))
			return l
		})
		app, err := newApp(localConfig(t), silent, stuck)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := app.Run(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begin); took != startTimeout {
			t.Errorf("it took %v, want %v", took, startTimeout)
		}
	})
}

// Ensure that the program fails in bounded time when a part ignores the context
// of its stop.
func TestApp_OutlastsAStuckStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		app, err := newApp(localConfig(t, "app.web.shutdown.delay=1s", "app.web.shutdown.drain=2s"), silent)
		if err != nil {
			t.Fatal(err)
		}
		app.parts = fx.New(fx.NopLogger, fx.Invoke(func(lifecycle fx.Lifecycle) {
			lifecycle.Append(fx.StopHook(func() { <-release }))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		if err := app.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took, want := time.Since(begin), 3*time.Second+stopMargin; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

// Ensure that an address that is in use names its key and itself, and that what
// was started before is stopped.
func TestApp_AddressInUse(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, key := range []string{"app.web.address", "app.web.management-address"} {
		t.Run(key, func(t *testing.T) {
			app, err := New(localConfig(t, key+"="+taken.Addr().String()), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = app.Run(t.Context())
			var listenError *ListenError
			if !errors.As(err, &listenError) || listenError.Key != key || listenError.Address != taken.Addr().String() {
				t.Fatalf("error %v", err)
			}
			if text := err.Error(); !strings.Contains(text, "is in use; stop what listens there") {
				t.Errorf("error %q does not say what to do", text)
			}
		})
	}
	expectNoLeak(t, existing)
}

// Ensure that a listener that fails while it runs ends the app with its error.
func TestApp_ListenerFails(t *testing.T) {
	app := run(t, localConfig(t))
	if err := app.public.listener.Close(); err != nil {
		t.Fatal(err)
	}
	err := app.wait(t)
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "app.web.address") {
		t.Errorf("error %v", err)
	}
}

// Ensure that a store that is down does not keep an app from starting, and that
// it says what is missing.
func TestApp_StartsWithoutItsStore(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	app := run(t, redisConfig(t, "127.0.0.1:1"))
	status, body := get(t, "http://"+app.management.Addr()+"/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"redis"`) {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if status, body := get(t, "http://"+app.public.Addr()+"/"); status != http.StatusServiceUnavailable {
		t.Errorf("the public listener answers %d %s", status, body)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
	expectNoLeak(t, existing)
}

// Ensure that subjects which anybody can choose are warned about, with the
// reason that is true.
func TestApp_WarnsOfSubjectsThatClientsChoose(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []string
		want string
	}{
		{"header from everybody", []string{"app.web.subject.source=header:X-Api-Key"}, "no proxy is named"},
		{"header, everybody trusted", []string{"app.web.subject.source=header:X-Api-Key", "app.web.subject.trusted-proxies=0.0.0.0/0"}, "everybody a trusted proxy"},
		{"address, everybody trusted", []string{"app.web.subject.trusted-proxies=10.0.0.0/8,::/0"}, "everybody a trusted proxy"},
		{"header from a proxy", []string{"app.web.subject.source=header:X-Api-Key", "app.web.subject.trusted-proxies=10.0.0.0/8"}, ""},
		{"address", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := new(lockedBuffer)
			if _, err := New(localConfig(t, test.set...), slog.New(slog.NewTextHandler(log, nil))); err != nil {
				t.Fatal(err)
			}
			warned := strings.Contains(log.String(), "clients choose their subject")
			if warned != (test.want != "") || !strings.Contains(log.String(), test.want) {
				t.Errorf("warned: %v, want %q; log:\n%s", warned, test.want, log)
			}
		})
	}
}

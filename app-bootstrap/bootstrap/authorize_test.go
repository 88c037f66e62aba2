package bootstrap

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

const withAuthorize = "app.web.authorize-address=127.0.0.1:0"

// authorize asks at address whether a request of client may pass.
func authorize(t *testing.T, address, client string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/authorize", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", client)
	request.Header.Set("X-Forwarded-Method", http.MethodGet)
	request.Header.Set("X-Forwarded-Uri", "/quotes")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// Ensure that a proxy that asks, at either listener, charges the quota that the
// public listener charges, although each process keeps it for itself.
func TestApp_AuthorizeSharesLocalQuota(t *testing.T) {
	app := run(t, localConfig(t, withAuthorize, "app.web.local-limiter.limit=3"))
	if status, _ := get(t, "http://"+app.public.Addr()+"/"); status != http.StatusOK {
		t.Fatalf("the public listener answers %d", status)
	}
	for _, address := range []string{app.authorize.Addr(), app.management.Addr()} {
		if got := authorize(t, address, "127.0.0.1"); got.StatusCode != http.StatusNoContent || got.Header.Get("RateLimit") == "" {
			t.Fatalf("%s answers %d %v", address, got.StatusCode, got.Header)
		}
	}
	if status, _ := get(t, "http://"+app.public.Addr()+"/"); status != http.StatusTooManyRequests {
		t.Errorf("the public listener answers %d, want the quota used up", status)
	}
	if got := authorize(t, app.authorize.Addr(), "127.0.0.1"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the client is answered %d, want the quota used up", got.StatusCode)
	}
	if got := authorize(t, app.authorize.Addr(), "203.0.113.7"); got.StatusCode != http.StatusNoContent {
		t.Errorf("another client is answered %d", got.StatusCode)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that the listener for proxies answers nothing else, needs no token, and
// that the management listener does need it for the same question.
func TestApp_AuthorizeListenerServesNothingElse(t *testing.T) {
	app := run(t, localConfig(t, withAuthorize, "app.web.management-token=secret"))
	for _, path := range []string{"/", "/livez", "/readyz", "/v1/policies", "/v1/authorize/"} {
		if status, body := get(t, "http://"+app.authorize.Addr()+path); status != http.StatusNotFound {
			t.Errorf("%s answers %d %s", path, status, body)
		}
	}
	if got := authorize(t, app.authorize.Addr(), "203.0.113.7"); got.StatusCode != http.StatusNoContent {
		t.Errorf("the listener for proxies answers %d", got.StatusCode)
	}
	if got := authorize(t, app.management.Addr(), "203.0.113.7"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the management listener answers %d without a token", got.StatusCode)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

// Ensure that proxies are answered while the public listener drains, and that
// their listener closes with the management listener.
func TestApp_DrainsPublicBeforeAuthorize(t *testing.T) {
	log := new(lockedBuffer)
	app, err := New(localConfig(t, withAuthorize, "app.web.shutdown.drain=1m"), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	app.public.http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	})
	r := runApp(t, app, log)
	held := ask(app.public.server)
	<-entered
	r.cancel()
	eventually(t, "the public listener is closed", func() bool { return !accepts(app.public.Addr()) })
	if got := authorize(t, app.authorize.Addr(), "203.0.113.7"); got.StatusCode != http.StatusNoContent {
		t.Errorf("proxies are answered %d during the drain", got.StatusCode)
	}
	close(release)
	if got := <-held; got.err != nil {
		t.Errorf("the held request: %v", got.err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if accepts(app.authorize.Addr()) {
		t.Error("the listener for proxies is still open")
	}
}

func accepts(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

// Ensure that an address that is in use is named with its key, and that nothing
// is left open.
func TestApp_AuthorizeAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	app, err := New(localConfig(t, "app.web.authorize-address="+taken.Addr().String()), silent)
	if err != nil {
		t.Fatal(err)
	}
	err = app.Run(t.Context())
	listen, ok := errors.AsType[*ListenError](err)
	if !ok || listen.Key != "app.web.authorize-address" || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("error %v", err)
	}
	if accepts(app.management.Addr()) {
		t.Error("the management listener is still open")
	}
}

// Ensure that the log tells where proxies are answered, if they have a listener.
func TestApp_LogsAuthorizeAddress(t *testing.T) {
	for _, set := range [][]string{nil, {withAuthorize}} {
		app := run(t, localConfig(t, set...))
		if got := strings.Contains(app.log.String(), " authorizeAddress=127.0.0.1:"); got != (set != nil) {
			t.Errorf("with %q the address is logged: %t", set, got)
		}
		app.cancel()
		if err := app.wait(t); err != nil {
			t.Error(err)
		}
	}
}

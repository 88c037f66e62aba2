package management_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/adapter-inbound-web/internal/openapitest"
	"example.com/weir/adapter-inbound-web/management"
)

func newHandler(t testing.TB, config management.Config) *management.Handler {
	t.Helper()
	handler, err := management.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func serve(handler http.Handler, method, path, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if token != "" {
		r.Header.Set("Weir-Management-Token", token)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// ask serves, and holds the response against the API's document.
func ask(t *testing.T, handler http.Handler, method, path, token string) *httptest.ResponseRecorder {
	t.Helper()
	return serve(openapitest.Wrap(t, handler), method, path, token)
}

func ready(t *testing.T, handler http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, handler, http.MethodGet, "/readyz", "")
}

func passing(context.Context) error { return nil }

var api = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "api "+r.URL.Path) })

// newAPI is the decision API where limiting is disabled.
func newAPI(t *testing.T) http.Handler {
	t.Helper()
	handler, err := evaluation.New(evaluation.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// Ensure that each path and method is answered as it should, with and without a
// token.
func TestHandlerRoutes(t *testing.T) {
	tests := []struct {
		name, token, method, path, given string
		status                           int
		allow                            string
	}{
		{"alive", "", "GET", "/livez", "", 200, ""},
		{"alive, HEAD", "", "HEAD", "/livez", "", 200, ""},
		{"alive, POST", "", "POST", "/livez", "", 405, "GET, HEAD"},
		{"ready", "", "GET", "/readyz", "", 200, ""},
		{"ready, HEAD", "", "HEAD", "/readyz", "", 200, ""},
		{"ready, DELETE", "", "DELETE", "/readyz", "", 405, "GET, HEAD"},
		{"evaluations", "", "POST", "/v1/evaluations", "", 415, ""}, // there is no content
		{"policies", "", "GET", "/v1/policies", "", 200, ""},
		{"policies, HEAD", "", "HEAD", "/v1/policies", "", 200, ""},
		{"description", "", "GET", "/openapi.yaml", "", 200, ""},
		{"description, HEAD", "", "HEAD", "/openapi.yaml", "", 200, ""},
		{"description, PUT", "", "PUT", "/openapi.yaml", "", 405, "GET, HEAD"},
		{"unknown", "", "GET", "/other", "", 404, ""},
		{"root", "", "GET", "/", "", 404, ""},
		{"no metrics", "", "GET", "/metrics", "", 404, ""},

		{"alive needs no token", "secret", "GET", "/livez", "", 200, ""},
		{"ready needs no token", "secret", "GET", "/readyz", "", 200, ""},
		{"metrics that there are not need no token", "secret", "GET", "/metrics", "", 404, ""},
		{"no token", "secret", "POST", "/v1/evaluations", "", 401, ""},
		{"wrong token", "secret", "POST", "/v1/evaluations", "Secret", 401, ""},
		{"beginning of the token", "secret", "POST", "/v1/evaluations", "secre", 401, ""},
		{"more than the token", "secret", "POST", "/v1/evaluations", "secrets", 401, ""},
		{"unknown path without token", "secret", "GET", "/other", "", 401, ""},
		{"open path spelt otherwise", "secret", "GET", "//livez", "", 401, ""},
		{"no token for the description", "secret", "GET", "/openapi.yaml", "", 401, ""},
		{"right token", "secret", "GET", "/v1/policies", "secret", 200, ""},
		{"right token for the description", "secret", "GET", "/openapi.yaml", "secret", 200, ""},
		{"unknown path with token", "secret", "GET", "/other", "secret", 404, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handler := newHandler(t, management.Config{Token: test.token, Evaluation: newAPI(t)})
			w := ask(t, handler, test.method, test.path, test.given)
			if w.Code != test.status || w.Header().Get("Allow") != test.allow {
				t.Errorf("got %d, Allow: %q, want %d, %q", w.Code, w.Header().Get("Allow"), test.status, test.allow)
			}
			if isProblem := w.Header().Get("Content-Type") == "application/problem+json"; isProblem != (test.status >= 400) {
				t.Errorf("content type is %s", w.Header().Get("Content-Type"))
			}
			if test.status == 401 && w.Header().Get("WWW-Authenticate") != `Weir header="Weir-Management-Token"` {
				t.Errorf("challenge is %q", w.Header().Get("WWW-Authenticate"))
			}
		})
	}
}

// Ensure that the description is the file that is kept, as what it is.
func TestDescription(t *testing.T) {
	want, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, newHandler(t, management.Config{}), http.MethodGet, "/openapi.yaml", "")
	if got := w.Header().Get("Content-Type"); got != "application/yaml" || w.Header().Get("Content-Length") != fmt.Sprint(len(want)) {
		t.Errorf("header is %v", w.Header())
	}
	if !bytes.Equal(w.Body.Bytes(), want) {
		t.Error("it is another text")
	}
}

// Ensure that there is no decision API unless there is one.
func TestHandlerWithoutEvaluation(t *testing.T) {
	if w := ask(t, newHandler(t, management.Config{}), http.MethodPost, "/v1/evaluations", ""); w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
}

// Ensure that metrics are read by whoever may reach the listener, token or not,
// and by nothing but reading.
func TestHandlerMetrics(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "counted 1") })
	tests := []struct {
		name, method, path string
		status             int
		allow, body        string
	}{
		{"read", "GET", "/metrics", 200, "", "counted 1"},
		{"asked for", "HEAD", "/metrics", 200, "", "counted 1"}, // net/http drops the body
		{"written", "POST", "/metrics", 405, "GET, HEAD", ""},
		{"spelt otherwise", "GET", "/metrics/", 401, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handler := newHandler(t, management.Config{Token: "secret", Metrics: metrics})
			w := ask(t, handler, test.method, test.path, "")
			if w.Code != test.status || w.Header().Get("Allow") != test.allow {
				t.Errorf("got %d, Allow: %q, want %d, %q", w.Code, w.Header().Get("Allow"), test.status, test.allow)
			}
			if test.body != "" && w.Body.String() != test.body {
				t.Errorf("got %q, want %q", w.Body, test.body)
			}
		})
	}
}

// Ensure that readiness names all that is missing, in order, and nothing else.
func TestReadinessNamesWhatIsMissing(t *testing.T) {
	handler := newHandler(t, management.Config{Checks: []management.Check{
		{Name: "store", Probe: func(context.Context) error { return errors.New("connection refused") }},
		{Name: "fine", Probe: passing},
		{Name: "programs", Probe: func(context.Context) error { return errors.New("not loaded") }},
	}})
	w := ready(t, handler)
	want := `{"status":"unready","missing":[{"name":"store","detail":"connection refused"},{"name":"programs","detail":"not loaded"}]}`
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("got %d %s, want 503 %s", w.Code, w.Body, want)
	}
}

// Ensure that however many ask, each check runs once in a quarter of a second.
func TestReadinessIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int64
		handler := newHandler(t, management.Config{Checks: []management.Check{{Name: "store", Probe: func(context.Context) error {
			probes.Add(1)
			time.Sleep(10 * time.Millisecond)
			return nil
		}}}})
		askTogether := func(want int64) {
			t.Helper()
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if w := ready(t, handler); w.Code != http.StatusOK {
						t.Errorf("got %d, want 200", w.Code)
					}
				})
			}
			all.Wait()
			if got := probes.Load(); got != want {
				t.Errorf("the check ran %d times, want %d", got, want)
			}
		}
		askTogether(1)
		time.Sleep(250*time.Millisecond - 1)
		askTogether(1)
		time.Sleep(1)
		askTogether(2)
	})
}

// Ensure that checks run at the same time, that one which hangs is named after
// a second, and that it is not started again before it has ended.
func TestReadinessDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running atomic.Int64
		hang := func(context.Context) error {
			running.Add(1)
			<-release
			return nil
		}
		handler := newHandler(t, management.Config{Checks: []management.Check{
			{Name: "first", Probe: hang},
			{Name: "second", Probe: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		}})
		start := time.Now()
		w := ready(t, handler)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want a second", took)
		}
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `{"name":"first","detail":"no answer within 1s"}`) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		if w := ready(t, handler); w.Code != http.StatusServiceUnavailable || running.Load() != 1 {
			t.Errorf("got %d with %d checks running, want 503 and 1", w.Code, running.Load())
		}
		close(release)
		time.Sleep(time.Second)
		if w := ready(t, handler); !strings.Contains(w.Body.String(), `"missing":[{"name":"second"`) {
			t.Errorf("got %s, want the second check alone", w.Body)
		}
	})
}

// Ensure that a client that gives up is not kept, does not spoil the result for
// others, and does not hear that all is well.
func TestReadinessOutlivesItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newHandler(t, management.Config{Checks: []management.Check{{Name: "store", Probe: func(ctx context.Context) error {
			select {
			case <-time.After(100 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("who gave up got %d, want 503", w.Code)
		}
		if w := ready(t, handler); w.Code != http.StatusOK {
			t.Errorf("who stayed got %d %s, want 200", w.Code, w.Body)
		}
	})
}

// Ensure that a process that stops is alive and not ready, at once, even for
// those who were already asking.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		handler := newHandler(t, management.Config{Checks: []management.Check{{Name: "store", Probe: func(context.Context) error {
			<-release
			return nil
		}}}})
		want := `{"status":"unready","missing":[{"name":"shutting-down","detail":"the process is stopping"}]}`
		check := func() {
			if w := ready(t, handler); w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
				t.Errorf("got %d %s, want 503 %s", w.Code, w.Body, want)
			}
		}
		var asking sync.WaitGroup
		asking.Go(check)
		synctest.Wait()
		handler.Drain()
		handler.Drain()
		check()
		close(release)
		asking.Wait()
		if w := ask(t, handler, http.MethodGet, "/livez", ""); w.Code != http.StatusOK {
			t.Errorf("/livez: got %d, want 200", w.Code)
		}
	})
}

// Ensure that the log has a line for each change of readiness and no others.
func TestReadinessLogsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var fault error
		handler := newHandler(t, management.Config{
			Checks: []management.Check{{Name: "store", Probe: func(context.Context) error { return fault }}},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		for _, fault = range []error{errors.New("refused"), errors.New("timeout"), nil, nil, errors.New("refused")} {
			ready(t, handler)
			time.Sleep(time.Second)
		}
		got := strings.Count(log.String(), `msg="not ready"`)*10 + strings.Count(log.String(), "msg=ready")
		if lines := strings.Count(log.String(), "\n"); got != 21 || lines != 3 {
			t.Errorf("got\n%swant three lines, of which the second is ready", log.String())
		}
	})
}

// Ensure that all faults come at once and name their fields.
func TestNewFaults(t *testing.T) {
	_, err := management.New(management.Config{
		Token: "two words",
		Checks: []management.Check{
			{Name: "a", Probe: passing},
			{Name: "a", Probe: passing},
			{},
		},
	})
	want := "token: must consist of visible ASCII characters; checks[1].name: must be given, and be unique; checks[2].name: must be given, and be unique; checks[2].probe: must be given"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := management.New(management.Config{Token: "ö"}); err == nil {
		t.Error("a token that is not ASCII was accepted")
	}
}

package bootstrap

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/weir/app-bootstrap/config"
)

// layeredFile is a configuration with two levels, over a store that is down. Other
// machines are slower than the defaults allow, and fail for other reasons then.
const layeredFile = `
app:
  web:
    address: 127.0.0.1:0
    management-address: 127.0.0.1:0
    evaluation-deadline: 20s
    layers: {set: tenant-user, identities: {user: "header:X-User", tenant: "header:X-Tenant"}}
  rate-limit:
    default-policy: anonymous
    redis:
      endpoint: redis://127.0.0.1:1
      hmac-secret: 0123456789abcdef0123456789abcdef
      command-timeout: 5s
      dial-timeout: 5s
      pool-timeout: 5s
    layered:
      tenant-user: {failure-mode: MODE, levels: [{name: user, policy: user}, {name: tenant, policy: tenant}]}
    policies:
      anonymous: {revision: 1, algorithm: fixed-window, limit: 5, window: 1h, max-cost: 1, cleanup-grace: 1s, max-clock-regression: 250ms}
      user: {revision: 1, algorithm: fixed-window, limit: 3, window: 1h, max-cost: 1, cleanup-grace: 1s, max-clock-regression: 250ms}
      tenant: {revision: 1, algorithm: fixed-window, limit: 10, window: 1h, max-cost: 1, cleanup-grace: 1s, max-clock-regression: 250ms}
`

func layeredConfig(t *testing.T, mode string, set ...string) config.Config {
	t.Helper()
	cfg, warnings, err := config.Load(config.Sources{
		File: "weir.yaml",
		Set:  set,
		ReadFile: func(path string) ([]byte, error) {
			if path != "weir.yaml" {
				return nil, fs.ErrNotExist
			}
			return []byte(strings.ReplaceAll(layeredFile, "MODE", mode)), nil
		},
	})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return cfg
}

// askAs asks url on behalf of a user of a tenant; no user is nobody.
func askAs(t *testing.T, url, user string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Tenant", "acme")
	if user != "" {
		request.Header.Set("X-User", user)
	}
	request.Header.Set("X-Forwarded-Method", http.MethodGet)
	request.Header.Set("X-Forwarded-Uri", "/quotes")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// Ensure that each failure mode does what it says while the store is out, that the
// public listener and proxies that ask fall back to the same windows, that
// scrapers see how often, and that nothing is left behind.
func TestApp_LayersWhileTheStoreIsOut(t *testing.T) {
	const (
		public = iota
		proxies
	)
	type step struct {
		listener int
		user     string
		status   int
		degraded string
	}
	for _, test := range []struct {
		name, mode string
		set        []string
		steps      []step
		metrics    string
	}{
		{"fail-open", "fail-open", nil, []step{
			{public, "a", 200, "fail-open"},
			{public, "a", 200, "fail-open"},
			{public, "a", 200, "fail-open"},
			{public, "a", 200, "fail-open"}, // above the limit
			{proxies, "a", 204, "fail-open"},
			{public, "", 503, ""}, // of the default policy, which has no such mode
		}, counted("fail-open", 5)},
		{"fail-closed", "fail-closed", nil, []step{
			{public, "a", 503, ""},
			{proxies, "a", 503, ""},
			{public, "", 503, ""},
		}, ""},
		{"local-fallback", "local-fallback", nil, []step{
			{public, "a", 200, "local-fallback"},
			{public, "a", 200, "local-fallback"},
			{public, "a", 200, "local-fallback"},
			{public, "a", 429, "local-fallback"},
		}, counted("local-fallback", 4)},
		{"local-fallback of one of two", "local-fallback", []string{"app.web.fallback.replicas=2"}, []step{ // half of 3 and of 10, rounded up
			{public, "a", 200, "local-fallback"},
			{proxies, "a", 204, "local-fallback"},
			{public, "a", 429, "local-fallback"},
			{proxies, "a", 429, "local-fallback"},
			{public, "b", 200, "local-fallback"},
			{public, "c", 200, "local-fallback"},
			{public, "d", 200, "local-fallback"},
			{public, "e", 429, "local-fallback"}, // by the tenant
			{public, "", 503, ""},
		}, counted("local-fallback", 8)},
		{"local-fallback with one window", "local-fallback", []string{"app.web.local-limiter.max-subjects=1"}, []step{
			{public, "a", 200, "local-fallback"},
			{public, "b", 200, "local-fallback"},
			{public, "c", 200, "local-fallback"},
			{public, "d", 200, "local-fallback"},
			{public, "e", 429, "local-fallback"}, // all but the first share one
			{public, "a", 200, "local-fallback"},
		}, counted("local-fallback", 6)},
	} {
		t.Run(test.name, func(t *testing.T) {
			existing := goleak.IgnoreCurrent()
			app := run(t, layeredConfig(t, test.mode, test.set...))
			urls := []string{
				public:  "http://" + app.public.Addr() + "/",
				proxies: "http://" + app.management.Addr() + "/v1/authorize",
			}
			for i, step := range test.steps {
				got := askAs(t, urls[step.listener], step.user)
				if got.StatusCode != step.status || got.Header.Get("Weir-Degraded") != step.degraded {
					t.Errorf("step %d: got %d, degraded %q, want %d, %q", i, got.StatusCode, got.Header.Get("Weir-Degraded"), step.status, step.degraded)
				}
			}
			status, body := get(t, "http://"+app.management.Addr()+"/metrics")
			if got := samples(body); status != http.StatusOK || got != test.metrics {
				t.Errorf("/metrics answers %d %q, want %q", status, got, test.metrics)
			}
			app.cancel()
			if err := app.wait(t); err != nil {
				t.Error(err)
			}
			if got := samples(metricsOf(app.App)); got != "" {
				t.Errorf("after the stop there is still %q", got)
			}
			expectNoLeak(t, existing)
		})
	}
}

// counted are the samples of n requests that mode treated, all of them for want of a
// connection. What else it covers is counted from zero.
func counted(mode string, n int) string {
	categories := []string{"connection", "no-reply", "store-unready"}
	if mode == "local-fallback" {
		categories = []string{"clock-unsafe", "connection", "no-reply", "saturated", "store-unready"}
	}
	lines := make([]string, len(categories))
	for i, category := range categories {
		count := 0
		if category == "connection" {
			count = n
		}
		lines[i] = fmt.Sprintf("weir_edge_degraded_total{category=%q,mode=%q} %d", category, mode, count)
	}
	return strings.Join(lines, "\n")
}

// samples are the lines of a metrics page that are no comments.
func samples(page string) string {
	var lines []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// metricsOf is the metrics page of an app, whether its listener is open or not.
func metricsOf(app *App) string {
	w := httptest.NewRecorder()
	app.management.http.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// Ensure that the log says at the start which set decides, and what an outage will
// allow.
func TestApp_LayersAreLogged(t *testing.T) {
	for _, test := range []struct {
		mode string
		set  []string
		want string
	}{
		{"fail-closed", nil, `failureMode=fail-closed outage="refuses them"`},
		{"fail-open", nil, `failureMode=fail-open outage="lets them pass, unlimited"`},
		{"local-fallback", nil, `failureMode=local-fallback outage="allows limit x replicas, since each process enforces the whole limits"`},
		{"local-fallback", []string{"app.web.fallback.replicas=3"}, `failureMode=local-fallback outage="allows the limits, since each of 3 replicas enforces its share, rounded up"`},
	} {
		t.Run(test.want, func(t *testing.T) {
			log := new(lockedBuffer)
			if _, err := New(layeredConfig(t, test.mode, test.set...), slog.New(slog.NewTextHandler(log, nil))); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"level=INFO", "set=tenant-user", `levels="[user tenant]"`, test.want} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("there is no %s in\n%s", want, log)
				}
			}
		})
	}
}

// Ensure that levels whose subject anybody can choose are warned about, each by
// the key of its identity, and others are not.
func TestApp_WarnsOfLevelsThatClientsChoose(t *testing.T) {
	const (
		user   = "app.web.layers.identities.user"
		tenant = "app.web.layers.identities.tenant"
	)
	for _, test := range []struct {
		name string
		set  []string
		want []string // keys
	}{
		{"headers from everybody", nil, []string{user, tenant}},
		{"headers from a proxy", []string{"app.web.subject.trusted-proxies=10.0.0.0/8"}, nil},
		{"header and address", []string{user + "=client-ip"}, []string{tenant}},
		{"addresses", []string{user + "=client-ip", tenant + "=client-ip"}, nil},
		{"everybody trusted", []string{user + "=client-ip", tenant + "=client-ip", "app.web.subject.trusted-proxies=0.0.0.0/0"},
			[]string{"app.web.subject.source", user, tenant}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := new(lockedBuffer)
			if _, err := New(layeredConfig(t, "fail-open", test.set...), slog.New(slog.NewTextHandler(log, nil))); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "clients choose their subject"); got != len(test.want) {
				t.Errorf("there are %d warnings, want %d; log:\n%s", got, len(test.want), log)
			}
			for _, key := range test.want {
				if !strings.Contains(log.String(), "key=app.web.subject.trusted-proxies identity="+key+"\n") {
					t.Errorf("there is no warning of %s; log:\n%s", key, log)
				}
			}
		})
	}
}

// Ensure that where clients choose the identities of a set which fails open, the
// warnings say that an outage lets them pass.
func TestApp_WarnsOfClientsThatChooseToPass(t *testing.T) {
	for mode, want := range map[string]int{"fail-open": 2, "fail-closed": 0, "local-fallback": 0} {
		log := new(lockedBuffer)
		if _, err := New(layeredConfig(t, mode), slog.New(slog.NewTextHandler(log, nil))); err != nil {
			t.Fatal(err)
		}
		got := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "clients choose their subject") && strings.Contains(line, `outage="lets whoever names the identities of all levels pass, unlimited"`) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d warnings say so, want %d; log:\n%s", mode, got, want, log)
		}
	}
}

// Ensure that the decision API asks the same port about levels, and says what came
// of it whatever the failure mode of a set.
func TestApp_EvaluatesLayers(t *testing.T) {
	app := run(t, layeredConfig(t, "fail-open"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+app.management.Addr()+"/v1/evaluations",
		strings.NewReader(`{"layers": [{"name": "user", "policyId": "user", "subject": "a"}, {"name": "tenant", "policyId": "tenant", "subject": "acme"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"category":"connection"`) || response.Header.Get("Weir-Degraded") != "" {
		t.Errorf("got %d %v %s", response.StatusCode, response.Header, body)
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

package edge_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimittest"
)

const page = "https://example.org"

func fromPage(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Origin", page)
	return r
}

// Ensure that every answer of the edge itself can be read by the scripts of an
// allowed page, and says nothing of origins unless they are configured.
func TestEdgeAnswersAcrossOrigins(t *testing.T) {
	cors, err := answer.NewCORS([]string{page})
	if err != nil {
		t.Fatal(err)
	}
	byKey, err := subject.New(subject.Config{Source: "header:X-Api-Key"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*edge.Config, *http.Request)
		status int
	}{
		{"denied", func(c *edge.Config, _ *http.Request) {
			policy, _ := c.Catalog.Current().Policy("standard")
			c.Port = ratelimittest.AlwaysDenies(policy, 1)
		}, 429},
		{"unavailable", func(c *edge.Config, _ *http.Request) {
			c.Port = ratelimittest.AlwaysUnavailable(failure.Connection, 0)
		}, 503},
		{"indeterminate", func(c *edge.Config, _ *http.Request) {
			c.Port = ratelimittest.AlwaysIndeterminate(failure.NoReply, 0)
		}, 503},
		{"incompatible", func(c *edge.Config, _ *http.Request) {
			c.Port = ratelimittest.AlwaysIncompatible(failure.State)
		}, 503},
		{"nobody", func(c *edge.Config, _ *http.Request) { c.Subject = byKey }, 401},
		{"no address", func(_ *edge.Config, r *http.Request) { r.RemoteAddr = "@" }, 400},
		{"no route", func(c *edge.Config, _ *http.Request) { c.DefaultRoute = edge.RejectDefault }, 404},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, configured := range []*answer.CORS{cors, nil} {
				config, _ := newConfig(t)
				config.CORS = configured
				r := fromPage(http.MethodGet, "/")
				test.change(&config, r)
				w := serve(newEdge(t, config)(done), r)
				if w.Code != test.status {
					t.Fatalf("got %d, want %d", w.Code, test.status)
				}
				want := map[string]string{"Access-Control-Allow-Origin": "", "Vary": "", "Access-Control-Expose-Headers": ""}
				if configured != nil {
					want = map[string]string{
						"Access-Control-Allow-Origin":   page,
						"Vary":                          "Origin",
						"Access-Control-Expose-Headers": "RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
					}
				}
				for field, value := range want {
					if got := w.Header().Get(field); got != value {
						t.Errorf("configured %t: %s is %q, want %q", configured != nil, field, got, value)
					}
				}
			}
		})
	}
}

// Ensure that what passes shows the rate-limit header fields to scripts, once
// and beside what the application shows, and that the application alone says
// who may read its answer.
func TestEdgeExposesFieldsOfWhatPasses(t *testing.T) {
	const fields = "RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"
	cors, err := answer.NewCORS([]string{page})
	if err != nil {
		t.Fatal(err)
	}
	config, _ := newConfig(t, edge.Route{Pattern: "/health", Exempt: true})
	config.CORS = cors
	application := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Access-Control-Expose-Headers", "X-Page")
		w.Header().Set("Access-Control-Allow-Origin", "*")
	})
	limit := newEdge(t, config)
	handler := limit(limit(application))
	tests := []struct {
		name string
		r    *http.Request
		want []string
	}{
		{"from the page", fromPage(http.MethodGet, "/"), []string{fields, "X-Page"}},
		{"from no page", get("/"), []string{"X-Page"}},
		{"exempt", fromPage(http.MethodGet, "/health"), []string{"X-Page"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := serve(handler, test.r)
			if got := w.Header().Values("Access-Control-Expose-Headers"); !slices.Equal(got, test.want) {
				t.Errorf("exposed are %q, want %q", got, test.want)
			}
			if got := w.Header().Values("Access-Control-Allow-Origin"); !slices.Equal(got, []string{"*"}) {
				t.Errorf("allowed are %q, want the application's word", got)
			}
		})
	}
}

// Ensure that the fields which an upstream exposes stay, behind the gateway too.
func TestEdgeExposesFieldsBesideTheUpstreams(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Expose-Headers", "X-Page")
		w.Header().Set("Access-Control-Allow-Origin", page)
	}))
	defer upstream.Close()
	forward, err := gateway.New(gateway.Config{
		Upstream:              upstream.URL,
		DialTimeout:           10 * time.Second,
		TLSTimeout:            10 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
		IdleTimeout:           10 * time.Second,
		MaxIdleConnections:    1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer forward.Close()
	cors, err := answer.NewCORS([]string{page})
	if err != nil {
		t.Fatal(err)
	}
	config, _ := newConfig(t)
	config.CORS, config.Headers = cors, answer.IETFHeaders
	w := serve(newEdge(t, config)(forward), fromPage(http.MethodGet, "/"))
	if got := w.Header().Values("Access-Control-Expose-Headers"); !slices.Equal(got, []string{"RateLimit, RateLimit-Policy, Retry-After", "X-Page"}) {
		t.Errorf("exposed are %q", got)
	}
	if got := w.Header().Values("Access-Control-Allow-Origin"); !slices.Equal(got, []string{page}) {
		t.Errorf("allowed are %q, want the upstream's word once", got)
	}
}

// Ensure that a browser that asks with a preflight before each request has the
// whole quota for its requests.
func TestEdgePreflightsTakeNoQuota(t *testing.T) {
	config, _ := newConfig(t, edge.Route{Pattern: "/", Policy: "standard"})
	handler := newEdge(t, config)(done)
	preflight := func() int {
		r := fromPage(http.MethodOptions, "/")
		r.Header.Set("Access-Control-Request-Method", http.MethodGet)
		return serve(handler, r).Code
	}
	for i := range 100 { // the quota
		if code := preflight(); code != http.StatusOK {
			t.Fatalf("preflight %d: got %d", i, code)
		}
		if w := serve(handler, fromPage(http.MethodGet, "/")); w.Code != http.StatusOK {
			t.Fatalf("request %d: got %d", i, w.Code)
		}
	}
	if code := preflight(); code != http.StatusOK {
		t.Errorf("a preflight beyond the quota: got %d, want 200", code)
	}
	if w := serve(handler, fromPage(http.MethodGet, "/")); w.Code != http.StatusTooManyRequests {
		t.Errorf("a request beyond the quota: got %d, want 429", w.Code)
	}
}

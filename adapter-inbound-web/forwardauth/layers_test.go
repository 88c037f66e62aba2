package forwardauth_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/forwardauth"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// newLayersConfig has the levels "user" (header X-User, policy "tight") and "tenant"
// (header X-Tenant, policy "standard", which is the default, too). Only proxies are
// believed to name them.
func newLayersConfig(t testing.TB) edge.Config {
	t.Helper()
	config, single := newConfig(t)
	memory, ok := single.Next.(ratelimit.LayeredPort)
	if !ok {
		t.Fatal("the model decides no layers")
	}
	config.Layers = &edge.Layers{Port: memory, Levels: []edge.Level{
		{Name: "user", Policy: "tight", Subject: newExtractor(t, subject.Config{Source: "header:X-User"})},
		{Name: "tenant", Policy: "standard", Subject: newExtractor(t, subject.Config{Source: "header:X-Tenant"})},
	}}
	return config
}

// asUser describes a request of a user of the tenant "acme".
func asUser(user string) []string { return described("X-User", user, "X-Tenant", "acme") }

// Ensure that layers decide here as at the edge, for every peer that may ask, and
// that a request which lacks an identity is decided by the default policy.
func TestHandlerDecidesLayers(t *testing.T) {
	for _, peer := range []string{proxy, loopback} {
		t.Run(peer, func(t *testing.T) {
			handler := newDescribedHandler(t, newLayersConfig(t))
			for i, want := range []string{`"tight";r=1;t=60, "standard";r=99;t=60`, `"tight";r=0;t=60, "standard";r=98;t=60`} {
				w := serve(handler, ask(peer, asUser("alice")...))
				if got := w.Header().Get("RateLimit"); w.Code != http.StatusNoContent || got != want {
					t.Errorf("request %d: answered %d %s, want %s", i, w.Code, got, want)
				}
			}
			w := serve(handler, ask(peer, asUser("alice")...))
			checkProblem(t, w)
			if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"refusedBy":["user"]`) {
				t.Errorf("answered %d %s, want a denial by user", w.Code, w.Body)
			}
			if w := serve(handler, ask(peer, asUser("bob")...)); w.Code != http.StatusNoContent {
				t.Errorf("another user is answered %d", w.Code)
			}
			if w := serve(handler, ask(peer, described("X-User", "alice")...)); w.Header().Get("RateLimit") != `"standard";r=99;t=60` {
				t.Errorf("without tenant: %v", w.Header())
			}
		})
	}
}

// Ensure that the configuration's layers are not changed for those who use them
// elsewhere: at the edge, headers count only if proxies wrote them.
func TestHandlerLeavesLayersAsTheyAre(t *testing.T) {
	config := newLayersConfig(t)
	newHandler(t, config)
	limit, err := edge.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r := ask(stranger, "X-User", "alice", "X-Tenant", "acme")
	if w := serve(limit(http.NotFoundHandler()), r); w.Header().Get("RateLimit") != `"standard";r=99;t=60` {
		t.Errorf("a stranger is believed: %v", w.Header())
	}
}

// Ensure that failure modes hold here as at the edge, and that both statuses of a
// denial have one fallback.
func TestHandlerFailureModes(t *testing.T) {
	type step struct {
		query    string
		status   int
		degraded string
		limit    string
	}
	tests := map[string]struct {
		mode     edge.FailureMode
		category failure.Category
		steps    []step
	}{
		"fail-closed":               {edge.FailClosed, failure.Connection, []step{{"", 503, "", ""}}},
		"fail-open":                 {edge.FailOpen, failure.Connection, []step{{"", 204, "fail-open", ""}, {"denied-status=403", 204, "fail-open", ""}}},
		"fail-open, saturated":      {edge.FailOpen, failure.Saturated, []step{{"", 503, "", ""}}},
		"fail-open, access denied":  {edge.FailOpen, failure.AccessDenied, []step{{"", 503, "", ""}}},
		"local-fallback, saturated": {edge.LocalFallback, failure.Saturated, []step{{"", 204, "local-fallback", `"tight";r=1;t=60, "standard";r=99;t=60`}}},
		"local-fallback": {edge.LocalFallback, failure.Connection, []step{
			{"", 204, "local-fallback", `"tight";r=1;t=60, "standard";r=99;t=60`},
			{"denied-status=403", 204, "local-fallback", `"tight";r=0;t=60, "standard";r=98;t=60`},
			{"", 429, "local-fallback", `"tight";r=0;t=60, "standard";r=98;t=60`},
			{"denied-status=403", 403, "local-fallback", `"tight";r=0;t=60, "standard";r=98;t=60`},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := newLayersConfig(t)
				config.Layers.Port = ratelimittest.LayeredAlwaysUnavailable(test.category, 0)
				config.Layers.FailureMode = test.mode
				handler := newDescribedHandler(t, config)
				for i, step := range test.steps {
					r := ask(proxy, asUser("alice")...)
					r.URL.RawQuery = step.query
					w := serve(handler, r)
					if got := w.Header().Get("Weir-Degraded"); w.Code != step.status || got != step.degraded || w.Header().Get("RateLimit") != step.limit {
						t.Errorf("step %d: answered %d %v, want %+v", i, w.Code, w.Header(), step)
					}
				}
			})
		})
	}
}

// Ensure that a fault of layers is the edge's.
func TestNewLayersFaults(t *testing.T) {
	config := newLayersConfig(t)
	config.Layers.Levels[0].Subject = nil
	if _, err := forwardauth.New(config); err == nil || !strings.Contains(err.Error(), "layers.levels[0].subject") {
		t.Errorf("got %v", err)
	}
}

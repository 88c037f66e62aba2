package forwardauth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/forwardauth"
	"example.com/weir/adapter-inbound-web/internal/openapitest"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

const (
	loopback = "127.0.0.1:40000"
	proxy    = "10.0.0.5:40000"    // trusted
	stranger = "203.0.113.9:40000" // not
)

// unhurried is a deadline where none is tested: a busy machine may stall for longer
// than the default.
const unhurried = time.Minute

func newPolicy(t testing.TB, id string, limit int64) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: limit, Window: time.Minute},
		MaxCost:       limit,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func newKey(t testing.TB) *pseudonym.Key {
	t.Helper()
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte{1}, pseudonym.MinSecretBytes))
	if err != nil {
		t.Fatal(err)
	}
	return secret.SubjectKey()
}

func newExtractor(t testing.TB, config subject.Config) *subject.Extractor {
	t.Helper()
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	extractor, err := subject.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return extractor
}

// newConfig has the policies "standard", which is the default, and "tight", of
// which 100 and 2 may be spent in a minute, and a clock that stands still.
func newConfig(t testing.TB) (edge.Config, *ratelimittest.Recorder) {
	t.Helper()
	snapshot, err := ratelimit.NewSnapshot(newPolicy(t, "standard", 100), newPolicy(t, "tight", 2))
	if err != nil {
		t.Fatal(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	start := time.Unix(1_800_000_000, 0)
	port := &ratelimittest.Recorder{Next: ratelimittest.NewMemory(catalog, func() time.Time { return start })}
	return edge.Config{
		Port:          port,
		Catalog:       catalog,
		Pseudonym:     newKey(t),
		DefaultPolicy: "standard",
		Subject:       newExtractor(t, subject.Config{}),
		Deadline:      unhurried,
		Routes: []edge.Route{
			{Pattern: "POST /login", Policy: "tight"},
			{Pattern: "GET /health", Exempt: true},
			{Pattern: "admin.example.org/", Policy: "tight", Cost: 2},
		},
	}, port
}

func newHandler(t testing.TB, config edge.Config) http.Handler {
	t.Helper()
	handler, err := forwardauth.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// newDescribedHandler also holds what it answers against the description of the
// API.
func newDescribedHandler(t *testing.T, config edge.Config) http.Handler {
	t.Helper()
	return openapitest.Wrap(t, newHandler(t, config))
}

// ask is a question by peer. Fields are names and values in turn; a name may
// come twice.
func ask(peer string, fields ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, forwardauth.Path, nil)
	r.RemoteAddr = peer
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

func serve(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// charges are "policy cost" for each request that port was asked to decide.
func charges(port *ratelimittest.Recorder) []string {
	texts := []string{}
	for _, request := range port.Requests() {
		texts = append(texts, fmt.Sprintf("%s %d", request.PolicyID(), request.Cost()))
	}
	return texts
}

// checkProblem wants a problem document that agrees with the status.
func checkProblem(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	var document struct{ Status int }
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || document.Status != w.Code {
		t.Errorf("%d with the document %s, %v", w.Code, w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q", got)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache control is %q", got)
	}
}

// Ensure which header fields describe a request, that the routes of the edge
// decide what it costs, and that nothing is charged for what is not understood.
func TestHandlerReadsTheDescription(t *testing.T) {
	const (
		xMethod, xURI, xHost = "X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host"
		oMethod, oURI        = "X-Original-Method", "X-Original-URI"
	)
	tests := []struct {
		name   string
		fields []string
		status int
		charge string // empty: none
	}{
		{"forwarded", []string{xMethod, "GET", xURI, "/quotes"}, 204, "standard 1"},
		{"original", []string{oMethod, "GET", oURI, "/quotes"}, 204, "standard 1"},
		{"forwarded, with a route", []string{xMethod, "POST", xURI, "/login"}, 204, "tight 1"},
		{"original, with a route", []string{oMethod, "POST", oURI, "/login"}, 204, "tight 1"},
		{"another method than the route's", []string{oMethod, "GET", oURI, "/login"}, 204, "standard 1"},
		{"method in lower case", []string{oMethod, "post", oURI, "/login"}, 204, "tight 1"},
		{"with a query", []string{oMethod, "POST", oURI, "/login?next=%2F&a=b"}, 204, "tight 1"},
		{"two slashes", []string{oMethod, "POST", oURI, "//login"}, 204, "tight 1"},
		{"what might be an authority", []string{oMethod, "POST", oURI, "//evil.example/../login"}, 204, "tight 1"},
		{"dots", []string{oMethod, "POST", oURI, "/static/%2e%2e/login"}, 204, "tight 1"},
		{"escaped slash", []string{oMethod, "POST", oURI, "/static/..%2flogin"}, 204, "tight 1"},
		{"exempt", []string{oMethod, "GET", oURI, "/health"}, 204, ""},
		{"not exempt in another reading", []string{oMethod, "GET", oURI, "/health/..%2flogin"}, 204, "standard 1"},
		{"exempt preflight", []string{oMethod, "OPTIONS", oURI, "/login", "Origin", "https://example.org", "Access-Control-Request-Method", "POST"}, 204, ""},
		{"forwarded host", []string{xMethod, "GET", xURI, "/", xHost, "ADMIN.example.org:8443"}, 204, "tight 2"},
		{"forwarded host does not belong to the other family", []string{oMethod, "GET", oURI, "/", xHost, "admin.example.org"}, 204, "standard 1"},
		{"other forwarded fields belong to no family", []string{oMethod, "GET", oURI, "/", "X-Forwarded-Proto", "https", "X-Forwarded-Port", "1"}, 204, "standard 1"},

		{"nothing", nil, 400, ""},
		{"forwarded method alone", []string{xMethod, "GET"}, 400, ""},
		{"forwarded URI alone", []string{xURI, "/quotes"}, 400, ""},
		{"original method alone", []string{oMethod, "GET"}, 400, ""},
		{"original URI alone", []string{oURI, "/quotes"}, 400, ""},
		{"halves of both", []string{xMethod, "GET", oURI, "/quotes"}, 400, ""},
		{"the other halves of both", []string{oMethod, "GET", xURI, "/quotes"}, 400, ""},
		{"forwarded and the other's method", []string{xMethod, "GET", xURI, "/", oMethod, "GET"}, 400, ""},
		{"forwarded and the other's URI", []string{xMethod, "GET", xURI, "/", oURI, "/"}, 400, ""},
		{"original and the other's method", []string{oMethod, "GET", oURI, "/", xMethod, "GET"}, 400, ""},
		{"original and the other's URI", []string{oMethod, "GET", oURI, "/", xURI, "/"}, 400, ""},
		{"both", []string{xMethod, "GET", xURI, "/", oMethod, "GET", oURI, "/"}, 400, ""},
		{"both, one without values", []string{xMethod, "GET", xURI, "/", oMethod, "", oURI, ""}, 400, ""},
		{"two methods", []string{oMethod, "GET", oMethod, "POST", oURI, "/"}, 400, ""},
		{"two URIs", []string{oMethod, "GET", oURI, "/", oURI, "/login"}, 400, ""},
		{"two hosts", []string{xMethod, "GET", xURI, "/", xHost, "a", xHost, "b"}, 400, ""},
		{"a list of hosts", []string{xMethod, "GET", xURI, "/", xHost, "a, b"}, 400, ""},
		{"no host", []string{xMethod, "GET", xURI, "/", xHost, "a b"}, 400, ""},

		{"empty method", []string{oMethod, "", oURI, "/"}, 400, ""},
		{"method of two words", []string{oMethod, "GET POST", oURI, "/"}, 400, ""},
		{"empty URI", []string{oMethod, "GET", oURI, ""}, 400, ""},
		{"absolute URI", []string{oMethod, "GET", oURI, "http://example.org/login"}, 400, ""},
		{"opaque URI", []string{oMethod, "GET", oURI, "http:login"}, 400, ""},
		{"asterisk", []string{oMethod, "OPTIONS", oURI, "*"}, 400, ""},
		{"authority", []string{oMethod, "CONNECT", oURI, "example.org:443"}, 400, ""},
		{"relative path", []string{oMethod, "GET", oURI, "login"}, 400, ""},
		{"query alone", []string{oMethod, "GET", oURI, "?a=b"}, 400, ""},
		{"fragment", []string{oMethod, "POST", oURI, "/login#a"}, 400, ""},
		{"blank", []string{oMethod, "POST", oURI, "/login "}, 400, ""},
		{"escape without digits", []string{oMethod, "POST", oURI, "/%zzlogin"}, 400, ""},
		{"escape that ends early", []string{oMethod, "POST", oURI, "/login%2"}, 400, ""},
		{"control character", []string{oMethod, "POST", oURI, "/login\x01"}, 400, ""},
		{"delete character", []string{oMethod, "POST", oURI, "/login\x7f"}, 400, ""},
	}
	for _, test := range tests {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			t.Run(test.name+", "+method, func(t *testing.T) {
				config, port := newConfig(t)
				r := ask(loopback, test.fields...)
				r.Method = method
				w := serve(newDescribedHandler(t, config), r)
				want := []string{}
				if test.charge != "" {
					want = append(want, test.charge)
				}
				if got := charges(port); w.Code != test.status || !slices.Equal(got, want) {
					t.Fatalf("answered %d %s, charged %v, want %d and %v", w.Code, w.Body, got, test.status, want)
				}
				if test.status != http.StatusNoContent {
					checkProblem(t, w)
				}
			})
		}
	}
}

// Ensure that the host of the request itself counts where the description names
// none.
func TestHandlerReadsHost(t *testing.T) {
	for _, family := range []string{"X-Original-", "X-Forwarded-"} {
		t.Run(family, func(t *testing.T) {
			config, port := newConfig(t)
			r := ask(loopback, family+"Method", "GET", family+"Uri", "/")
			r.Host = "admin.example.org"
			if w := serve(newDescribedHandler(t, config), r); w.Code != http.StatusNoContent {
				t.Fatalf("answered %d %s", w.Code, w.Body)
			}
			if got := charges(port); !slices.Equal(got, []string{"tight 2"}) {
				t.Errorf("charged %v", got)
			}
		})
	}
}

// described adds a description that is in order.
func described(fields ...string) []string {
	return append([]string{"X-Original-Method", "GET", "X-Original-URI", "/quotes"}, fields...)
}

// Ensure who is answered, and that others learn nothing and charge nothing.
func TestHandlerAnswersTrustedProxiesOnly(t *testing.T) {
	tests := []struct {
		name, peer string
		status     int
	}{
		{"loopback", loopback, 204},
		{"another loopback", "127.9.9.9:1", 204},
		{"loopback, IPv6", "[::1]:40000", 204},
		{"loopback, IPv4-mapped", "[::ffff:127.0.0.1]:40000", 204},
		{"trusted proxy", proxy, 204},
		{"trusted proxy, IPv4-mapped", "[::ffff:10.0.0.5]:40000", 204},
		{"stranger", stranger, 403},
		{"stranger, IPv6", "[2001:db8::1]:40000", 403},
		{"unspecified address", "0.0.0.0:40000", 403},
		{"no address", "@", 403},
		{"empty address", "", 403},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			w := serve(newDescribedHandler(t, config), ask(test.peer, described("X-Forwarded-For", "127.0.0.1")...))
			if w.Code != test.status {
				t.Fatalf("answered %d %s, want %d", w.Code, w.Body, test.status)
			}
			if test.status == http.StatusForbidden {
				checkProblem(t, w)
				if got := charges(port); len(got) > 0 || w.Header().Get("RateLimit") != "" {
					t.Errorf("charged %v, answered %v", got, w.Header())
				}
			}
		})
	}
}

// Ensure that a stranger gets the same answer whatever it asks for, and that an
// operator learns once, without an address, why everything is refused.
func TestHandlerRefusesStrangers(t *testing.T) {
	config, _ := newConfig(t)
	var log bytes.Buffer
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	handler := newHandler(t, config)
	for _, path := range []string{forwardauth.Path, "/other", forwardauth.Path + "?denied-status=1"} {
		r := httptest.NewRequest(http.MethodDelete, path, nil)
		r.RemoteAddr = stranger
		if w := serve(handler, r); w.Code != http.StatusForbidden {
			t.Errorf("%s is answered %d", path, w.Code)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || strings.Contains(got, "203.0.113.9") {
		t.Errorf("logged %q", got)
	}
}

// Ensure that the peer that asks is one trusted hop, and that of the others only
// those are trusted that the configuration names.
func TestHandlerFindsTheClient(t *testing.T) {
	key := newKey(t)
	tests := []struct {
		name, peer string
		config     subject.Config
		fields     []string
		want       string
	}{
		{"no header: the proxy itself", loopback, subject.Config{}, nil, "ip:127.0.0.1"},
		{"the client that loopback names", loopback, subject.Config{}, []string{"X-Forwarded-For", "203.0.113.7"}, "ip:203.0.113.7"},
		{"what the client said stays hearsay", loopback, subject.Config{}, []string{"X-Forwarded-For", "198.51.100.1, 203.0.113.7"}, "ip:203.0.113.7"},
		{"a line of the client's own", loopback, subject.Config{}, []string{"X-Forwarded-For", "198.51.100.1", "X-Forwarded-For", "203.0.113.7"}, "ip:203.0.113.7"},
		{"a client on this machine is no proxy", loopback, subject.Config{}, []string{"X-Forwarded-For", "198.51.100.1, 127.0.0.1"}, "ip:127.0.0.1"},
		{"a trusted proxy before loopback", loopback, subject.Config{}, []string{"X-Forwarded-For", "198.51.100.1, 203.0.113.7, 10.1.1.1"}, "ip:203.0.113.7"},
		{"a trusted proxy asks", proxy, subject.Config{}, []string{"X-Forwarded-For", "198.51.100.1, 203.0.113.7"}, "ip:203.0.113.7"},
		{"two trusted proxies", proxy, subject.Config{}, []string{"X-Forwarded-For", "203.0.113.7, 10.1.1.1"}, "ip:203.0.113.7"},
		{"garbage", loopback, subject.Config{}, []string{"X-Forwarded-For", "203.0.113.7, unknown"}, "ip:127.0.0.1"},
		{"Forwarded is not configured", loopback, subject.Config{}, []string{"Forwarded", "for=198.51.100.1"}, "ip:127.0.0.1"},
		{"Forwarded is configured", loopback, subject.Config{Forwarded: subject.StandardForwarded}, []string{"Forwarded", "for=203.0.113.7", "X-Forwarded-For", "198.51.100.1"}, "ip:203.0.113.7"},
		{"by header", loopback, subject.Config{Source: "header:X-Api-Key"}, []string{"X-Api-Key", "k"}, "header:X-Api-Key:k"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			config.Subject = newExtractor(t, test.config)
			w := serve(newHandler(t, config), ask(test.peer, described(test.fields...)...))
			if w.Code != http.StatusNoContent {
				t.Fatalf("answered %d %s", w.Code, w.Body)
			}
			want, err := pseudonym.ParseSubject(test.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := port.Requests()[0].Subject(); got != want.Digest(key) {
				t.Errorf("charged somebody else than %s", test.want)
			}
		})
	}
}

// Ensure that without an extractor only this machine may ask, and the walk ends
// after one hop.
func TestHandlerWithoutExtractor(t *testing.T) {
	config, port := newConfig(t)
	config.Subject = nil
	handler := newHandler(t, config)
	if w := serve(handler, ask(proxy, described()...)); w.Code != http.StatusForbidden {
		t.Errorf("a peer elsewhere is answered %d", w.Code)
	}
	serve(handler, ask(loopback, described("X-Forwarded-For", "198.51.100.1, 203.0.113.7")...))
	want, err := pseudonym.ParseSubject("ip:203.0.113.7")
	if err != nil {
		t.Fatal(err)
	}
	if got := port.Requests(); len(got) != 1 || got[0].Subject() != want.Digest(newKey(t)) {
		t.Errorf("charged %v", got)
	}
}

// Ensure that each outcome has its status, and that what the caller of a denial
// needs is there.
func TestHandlerAnswersOutcomes(t *testing.T) {
	policy := newPolicy(t, "standard", 100)
	tests := []struct {
		name   string
		port   ratelimit.EdgePort
		query  string
		status int
	}{
		{"denied", ratelimittest.AlwaysDenies(policy, time.Second), "", 429},
		{"denied, 403 wanted", ratelimittest.AlwaysDenies(policy, time.Second), "denied-status=403", 403},
		{"allowed", ratelimittest.AlwaysAllows(policy), "", 204},
		{"allowed, 403 wanted", ratelimittest.AlwaysAllows(policy), "denied-status=403", 204},
		{"unavailable", ratelimittest.AlwaysUnavailable(failure.Connection, 0), "", 503},
		{"unavailable, 403 wanted", ratelimittest.AlwaysUnavailable(failure.Connection, 0), "denied-status=403", 503},
		{"indeterminate, 403 wanted", ratelimittest.AlwaysIndeterminate(failure.NoReply, 0), "denied-status=403", 503},
		{"incompatible, 403 wanted", ratelimittest.AlwaysIncompatible(failure.State), "denied-status=403", 503},
		{"nil, 403 wanted", ratelimittest.Answers(func(ratelimit.Request) ratelimit.Outcome { return nil }), "denied-status=403", 503},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := newConfig(t)
			config.Port = test.port
			r := ask(loopback, described()...)
			r.URL.RawQuery = test.query
			w := serve(newDescribedHandler(t, config), r)
			if w.Code != test.status {
				t.Fatalf("answered %d %s, want %d", w.Code, w.Body, test.status)
			}
			if hasFields := w.Header().Get("RateLimit") != "" && w.Header().Get("RateLimit-Policy") != "" && w.Header().Get("X-RateLimit-Limit") != ""; hasFields != (test.status != 503) {
				t.Errorf("header fields are %v", w.Header())
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("cache control is %q", got)
			}
			if test.status == http.StatusNoContent {
				if w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" || w.Header().Get("Retry-After") != "" {
					t.Errorf("an admission has %v and the content %s", w.Header(), w.Body)
				}
				return
			}
			checkProblem(t, w)
			if test.status != 503 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "quota-exceeded")) {
				t.Errorf("a denial has %v and the content %s", w.Header(), w.Body)
			}
		})
	}
}

// Ensure that questions that are put wrongly are refused, and charge nothing.
func TestHandlerRefusesQuestions(t *testing.T) {
	tests := []struct {
		name, method, target string
		status               int
		allow                string
	}{
		{"POST", "POST", forwardauth.Path, 405, "GET, HEAD"},
		{"DELETE", "DELETE", forwardauth.Path, 405, "GET, HEAD"},
		{"OPTIONS", "OPTIONS", forwardauth.Path, 405, "GET, HEAD"},
		{"another path", "GET", "/v1/evaluations", 404, ""},
		{"root", "GET", "/", 404, ""},
		{"a path below", "GET", forwardauth.Path + "/quotes", 404, ""},
		{"status 429, which is the default", "GET", forwardauth.Path + "?denied-status=429", 400, ""},
		{"status 200", "GET", forwardauth.Path + "?denied-status=200", 400, ""},
		{"empty status", "GET", forwardauth.Path + "?denied-status=", 400, ""},
		{"status without value", "GET", forwardauth.Path + "?denied-status", 400, ""},
		{"two statuses", "GET", forwardauth.Path + "?denied-status=403&denied-status=403", 400, ""},
		{"no query at all", "GET", forwardauth.Path + "?%zz", 400, ""},
		{"another parameter", "GET", forwardauth.Path + "?a=b", 204, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			r := httptest.NewRequest(test.method, test.target, nil)
			r.RemoteAddr = loopback
			r.Header = ask(loopback, described()...).Header
			w := serve(newHandler(t, config), r)
			if w.Code != test.status || w.Header().Get("Allow") != test.allow {
				t.Fatalf("answered %d, Allow: %q, want %d, %q", w.Code, w.Header().Get("Allow"), test.status, test.allow)
			}
			if got := charges(port); test.status != 204 && len(got) > 0 {
				t.Errorf("charged %v", got)
			}
		})
	}
}

// Ensure that the edge's other refusals reach the proxy as they are.
func TestHandlerPassesOnTheEdgesRefusals(t *testing.T) {
	config, _ := newConfig(t)
	config.DefaultRoute = edge.RejectDefault
	if w := serve(newHandler(t, config), ask(loopback, described()...)); w.Code != http.StatusNotFound {
		t.Errorf("a request without route is answered %d", w.Code)
	}
	config, _ = newConfig(t)
	config.Subject = newExtractor(t, subject.Config{Source: "header:X-Api-Key"})
	if w := serve(newHandler(t, config), ask(loopback, described()...)); w.Code != http.StatusUnauthorized {
		t.Errorf("a request without subject is answered %d", w.Code)
	}
}

// Ensure that a denial tells of the same quota that the edge of the same
// configuration has used up.
func TestHandlerSharesQuotasWithTheEdge(t *testing.T) {
	config, _ := newConfig(t)
	limit, err := edge.New(config)
	if err != nil {
		t.Fatal(err)
	}
	public := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.RemoteAddr = "203.0.113.7:1"
		if w := serve(public, r); w.Code != http.StatusOK {
			t.Fatalf("answered %d", w.Code)
		}
	}
	w := serve(newHandler(t, config), ask(proxy, "X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/login", "X-Forwarded-For", "203.0.113.7"))
	if w.Code != http.StatusTooManyRequests || !strings.HasPrefix(w.Header().Get("RateLimit"), `"tight";r=0`) {
		t.Errorf("answered %d %v", w.Code, w.Header())
	}
}

// Ensure that the question is left as it was.
func TestHandlerChangesNothingOfTheQuestion(t *testing.T) {
	config, _ := newConfig(t)
	r := ask(loopback, described("X-Forwarded-For", "203.0.113.7")...)
	before := r.Clone(t.Context())
	serve(newHandler(t, config), r)
	if r.Method != before.Method || r.URL.String() != before.URL.String() || r.Host != before.Host || fmt.Sprint(r.Header) != fmt.Sprint(before.Header) {
		t.Errorf("got %v, want %v", r, before)
	}
}

// Ensure that the faults of the configuration are those of the edge.
func TestNewFaults(t *testing.T) {
	config, _ := newConfig(t)
	config.DefaultPolicy = "none"
	if _, err := forwardauth.New(config); err == nil || !strings.Contains(err.Error(), "default-policy") {
		t.Errorf("got %v", err)
	}
	config, _ = newConfig(t)
	config.DeniedStatus = "200"
	if _, err := forwardauth.New(config); err != nil {
		t.Errorf("the status of a denial matters: %v", err)
	}
}

// Ensure that no description panics, that what is understood is answered by the
// edge and the rest is 400, and that no description is cheaper than the request
// which it describes is at the edge.
func FuzzHandler(f *testing.F) {
	for _, uri := range []string{"/quotes", "//login", "/a?b", "*", "http://a/b", "/%2e%2e", "/login;a=b", "/\xff", "", "/login#a", "/%"} {
		f.Add("POST", uri, "example.org")
	}
	f.Add("CONNECT", "/", "admin.example.org.:1")
	f.Add("P O", "/health", "[::1]:80")
	f.Fuzz(func(t *testing.T, method, uri, host string) {
		config, port := newConfig(t)
		w := serve(newHandler(t, config), ask(loopback, "X-Forwarded-Method", method, "X-Forwarded-Uri", uri, "X-Forwarded-Host", host))
		asked := charges(port)
		switch w.Code {
		case http.StatusBadRequest:
			if len(asked) > 0 {
				t.Fatalf("charged %v and answered 400", asked)
			}
			return
		case http.StatusNoContent:
		default:
			t.Fatalf("answered %d %s", w.Code, w.Body)
		}

		r := ask(loopback)
		target, err := url.ParseRequestURI(uri)
		if err != nil {
			t.Fatalf("%q was understood: %v", uri, err)
		}
		r.Method, r.URL, r.Host = method, target, host
		config, port = newConfig(t)
		limit, err := edge.New(config)
		if err != nil {
			t.Fatal(err)
		}
		serve(limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), r)
		if want := charges(port); !slices.Equal(asked, want) {
			t.Errorf("%q %q at %q charges %v, at the edge %v", method, uri, host, asked, want)
		}
	})
}

func Example() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "edge-default", Revision: 1, Parameters: ratelimit.FixedWindow{Limit: 1, Window: time.Minute},
		MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		panic(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	key, err := edge.EphemeralKey()
	if err != nil {
		panic(err)
	}
	handler, err := forwardauth.New(edge.Config{
		Port:          ratelimittest.NewMemory(catalog, func() time.Time { return time.Unix(1_800_000_000, 0) }),
		Catalog:       catalog,
		Pseudonym:     key,
		DefaultPolicy: "edge-default",
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		r := httptest.NewRequest(http.MethodGet, "/v1/authorize?denied-status="+string(answer.DeniedForbidden), nil)
		r.RemoteAddr = "127.0.0.1:40000" // nginx, on this machine
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		r.Header.Set("X-Original-Method", "POST")
		r.Header.Set("X-Original-URI", "/quotes")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// 204 "edge-default";r=0;t=60
	// 403 "edge-default";r=0;t=60
}

package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that an admission passes with header fields, and a denial with the same
// fields and more does not.
func TestEdgeLimits(t *testing.T) {
	config, port := newConfig(t, edge.Route{Pattern: "/", Cost: 10})
	handler := newEdge(t, config)(done)
	for i := range 10 {
		w := serve(handler, get("/"))
		if want := fmt.Sprintf(`"standard";r=%d;t=60`, 90-10*i); w.Code != http.StatusOK || w.Body.String() != "done" || w.Header().Get("RateLimit") != want {
			t.Fatalf("request %d: %d %s %s, want 200, done and %s", i, w.Code, w.Body, w.Header().Get("RateLimit"), want)
		}
	}
	w := serve(handler, get("/"))
	if w.Code != http.StatusTooManyRequests || strings.Contains(w.Body.String(), "done") {
		t.Errorf("got %d %s, want 429 and not the handler's word", w.Code, w.Body)
	}
	if got := len(port.Requests()); got != 11 {
		t.Errorf("the port was asked %d times, want once per request", got)
	}
}

// Ensure that each failure is answered 503, and neither passes nor looks like
// the client's fault.
func TestEdgeFailsClosed(t *testing.T) {
	tests := map[string]ratelimit.EdgePort{
		"unavailable":   ratelimittest.AlwaysUnavailable(failure.Connection, 0),
		"indeterminate": ratelimittest.AlwaysIndeterminate(failure.NoReply, 0),
		"incompatible":  ratelimittest.AlwaysIncompatible(failure.State),
		"nil":           ratelimittest.Answers(func(ratelimit.Request) ratelimit.Outcome { return nil }),
	}
	for name, port := range tests {
		t.Run(name, func(t *testing.T) {
			config, _ := newConfig(t)
			config.Port = port
			w := serve(newEdge(t, config)(done), get("/"))
			if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "done") {
				t.Errorf("got %d %s, want 503", w.Code, w.Body)
			}
		})
	}
}

type portFunc func(context.Context, ratelimit.Request) ratelimit.Outcome

func (f portFunc) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return f(ctx, request)
}

// Ensure that the port gets a deadline, and that the handler does not.
func TestEdgeSetsDeadline(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: edge.DefaultDeadline, time.Second: time.Second} {
		t.Run(want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, memory := newConfig(t)
				config.Deadline = given
				config.Port = portFunc(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != want {
						t.Errorf("deadline is in %v, want %v", time.Until(deadline), want)
					}
					return memory.Evaluate(ctx, request)
				})
				handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if _, ok := r.Context().Deadline(); ok || r.Context().Err() != nil {
						t.Errorf("the handler's context has the port's deadline")
					}
				})
				if w := serve(newEdge(t, config)(handler), get("/")); w.Code != http.StatusOK {
					t.Errorf("got %d, want 200", w.Code)
				}
			})
		})
	}
}

// Ensure that a request that meets the middleware twice is charged once, and
// that the first decision counts.
func TestEdgeMountedTwiceChargesOnce(t *testing.T) {
	outerConfig, outer := newConfig(t, edge.Route{Pattern: "/", Policy: "heavy", Cost: 7})
	innerConfig, inner := newConfig(t)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		decision, ok := edge.DecisionFrom(r.Context())
		if !ok || decision.Policy.ID() != "heavy" || decision.Remaining != 993 {
			t.Errorf("got %v %t, want the first decision", decision, ok)
		}
	})
	outerEdge := newEdge(t, outerConfig)
	w := serve(outerEdge(outerEdge(newEdge(t, innerConfig)(handler))), get("/"))
	if got := charges(outer); !slices.Equal(got, []string{"heavy 7"}) {
		t.Errorf("the outer port was charged %v, want once", got)
	}
	if got := charges(inner); len(got) > 0 {
		t.Errorf("the inner port was charged %v, want nothing", got)
	}
	if got := w.Header().Values("RateLimit"); len(got) != 1 {
		t.Errorf("got %q, want one field", got)
	}
}

// Ensure that what one middleware exempts is not charged by another behind it.
func TestEdgeMountedTwiceExemptsOnce(t *testing.T) {
	preflight := httptest.NewRequest(http.MethodOptions, "/quotes", nil)
	preflight.Header.Set("Origin", "https://example.org")
	preflight.Header.Set("Access-Control-Request-Method", http.MethodPost)
	for name, r := range map[string]*http.Request{"exempt route": get("/health"), "preflight": preflight} {
		t.Run(name, func(t *testing.T) {
			outerConfig, _ := newConfig(t, edge.Route{Pattern: "/health", Exempt: true})
			innerConfig, inner := newConfig(t)
			innerConfig.Preflight = edge.CountPreflight
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if decision, ok := edge.DecisionFrom(r.Context()); ok {
					t.Errorf("got %v, want no decision", decision)
				}
			})
			if w := serve(newEdge(t, outerConfig)(newEdge(t, innerConfig)(handler)), r); w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
			if got := charges(inner); len(got) > 0 {
				t.Errorf("the inner port was charged %v, want nothing", got)
			}
		})
	}
}

// Ensure that a preflight that is exempt passes even where all that has no route
// is rejected, and that one that counts needs a route like any other request.
func TestEdgePreflightsWithoutRoute(t *testing.T) {
	for preflight, want := range map[edge.Preflight]int{edge.ExemptPreflight: http.StatusOK, edge.CountPreflight: http.StatusNotFound} {
		t.Run(string(preflight), func(t *testing.T) {
			config, port := newConfig(t, edge.Route{Pattern: "POST /quotes"})
			config.DefaultRoute, config.Preflight = edge.RejectDefault, preflight
			r := httptest.NewRequest(http.MethodOptions, "/quotes", nil)
			r.Header.Set("Origin", "https://example.org")
			r.Header.Set("Access-Control-Request-Method", http.MethodPost)
			if w := serve(newEdge(t, config)(done), r); w.Code != want {
				t.Errorf("got %d, want %d", w.Code, want)
			}
			if got := charges(port); len(got) > 0 {
				t.Errorf("%v was charged", got)
			}
		})
	}
}

// Ensure that requests that are exempt, by a route or as a preflight, pass
// without a decision and without header fields.
func TestEdgeLetsExemptRequestsPass(t *testing.T) {
	preflight := func() *http.Request {
		r := httptest.NewRequest(http.MethodOptions, "/quotes", nil)
		r.Header.Set("Origin", "https://example.org")
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		return r
	}
	withoutOrigin := preflight()
	withoutOrigin.Header.Del("Origin")
	withoutMethod := preflight()
	withoutMethod.Header.Del("Access-Control-Request-Method")
	notOptions := preflight()
	notOptions.Method = http.MethodGet
	tests := []struct {
		name      string
		preflight edge.Preflight
		request   *http.Request
		charged   bool
	}{
		{"exempt route", "", get("/health"), false},
		{"preflight", "", preflight(), false},
		{"preflight, exempt by name", edge.ExemptPreflight, preflight(), false},
		{"preflight, counted", edge.CountPreflight, preflight(), true},
		{"OPTIONS without Origin", "", withoutOrigin, true},
		{"OPTIONS without a method asked for", "", withoutMethod, true},
		{"GET with a preflight's headers", "", notOptions, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t, edge.Route{Pattern: "GET /health", Exempt: true})
			config.Preflight = test.preflight
			decided := false
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, decided = edge.DecisionFrom(r.Context()) })
			w := serve(newEdge(t, config)(handler), test.request)
			if w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
			if got := len(port.Requests()) > 0; got != test.charged || decided != test.charged {
				t.Errorf("charged %t, decided %t, want %t", got, decided, test.charged)
			}
			if got := len(w.Header()) > 0; got != test.charged {
				t.Errorf("header is %v", w.Header())
			}
		})
	}
}

// Ensure that browsers' preflights take nothing from their users' quota.
func TestEdgePreflightsDoNotEatQuota(t *testing.T) {
	config, port := newConfig(t)
	handler := newEdge(t, config)(done)
	for range 100 {
		r := httptest.NewRequest(http.MethodOptions, "/", nil)
		r.Header.Set("Origin", "https://example.org")
		r.Header.Set("Access-Control-Request-Method", http.MethodGet)
		serve(handler, r)
		if w := serve(handler, get("/")); w.Code != http.StatusOK {
			t.Fatalf("got %d, want 200", w.Code)
		}
	}
	if got := len(port.Requests()); got != 100 {
		t.Errorf("%d requests were charged, want 100", got)
	}
}

// Ensure that a rejected request is answered 404 and charged to nobody.
func TestEdgeRejectsUnroutedRequests(t *testing.T) {
	for _, routes := range [][]edge.Route{nil, {{Pattern: "GET /quotes"}}} {
		config, port := newConfig(t, routes...)
		config.DefaultRoute = edge.RejectDefault
		w := serve(newEdge(t, config)(done), get("/other"))
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: got %d %s, want a problem 404", routes, w.Code, w.Header().Get("Content-Type"))
		}
		if got := port.Requests(); len(got) > 0 {
			t.Errorf("%v: %v was charged", routes, got)
		}
	}
}

// Ensure that a client that does not say who it is learns how to, and that one
// that cannot be told apart is not let in.
func TestEdgeNeedsASubject(t *testing.T) {
	byKey, err := subject.New(subject.Config{Source: "header:X-Api-Key"})
	if err != nil {
		t.Fatal(err)
	}
	withKey := get("/")
	withKey.Header.Set("X-Api-Key", "secret")
	withoutAddress := get("/")
	withoutAddress.RemoteAddr = "@"
	tests := []struct {
		name    string
		subject *subject.Extractor
		request *http.Request
		want    int
	}{
		{"header", byKey, withKey, http.StatusOK},
		{"no header", byKey, get("/"), http.StatusUnauthorized},
		{"address", nil, get("/"), http.StatusOK},
		{"no address", nil, withoutAddress, http.StatusBadRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			config.Subject = test.subject
			w := serve(newEdge(t, config)(done), test.request)
			if w.Code != test.want {
				t.Errorf("got %d, want %d", w.Code, test.want)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); (challenge == `Weir header="X-Api-Key"`) != (test.want == http.StatusUnauthorized) {
				t.Errorf("challenge is %q", challenge)
			}
			if asked := len(port.Requests()) > 0; asked != (test.want == http.StatusOK) {
				t.Errorf("the port was asked: %t", asked)
			}
		})
	}
}

// Ensure that neither log lines nor answers tell who was asking, whatever came
// of it.
func TestEdgeKeepsSubjectsToItself(t *testing.T) {
	byKey, err := subject.New(subject.Config{Source: "header:X-Api-Key"})
	if err != nil {
		t.Fatal(err)
	}
	config, _ := newConfig(t)
	standard, _ := config.Catalog.Current().Policy("standard")
	tests := map[string]ratelimit.EdgePort{
		"denied":       ratelimittest.AlwaysDenies(standard, time.Second),
		"unavailable":  ratelimittest.AlwaysUnavailable(failure.Connection, 0),
		"incompatible": ratelimittest.AlwaysIncompatible(failure.State),
	}
	for name, port := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			config.Port, config.Subject = port, byKey
			config.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r := get("/path-of-somebody")
			r.Header.Set("X-Api-Key", "key-of-somebody")
			r.RemoteAddr = "192.0.2.77:4711"
			w := serve(newEdge(t, config)(done), r)
			if log.Len() == 0 {
				t.Fatal("nothing was logged")
			}
			for _, secret := range []string{"of-somebody", "192.0.2.77"} {
				if told := log.String() + w.Body.String() + fmt.Sprint(w.Header()); strings.Contains(told, secret) {
					t.Errorf("%q is told: %s", secret, told)
				}
			}
		})
	}
}

// Ensure that the edge digests subjects as every other caller does, so that a
// subject has one quota wherever it is named.
func TestEdgeDigestsSubjects(t *testing.T) {
	config, port := newConfig(t)
	r := get("/")
	r.RemoteAddr = "192.0.2.7:4711"
	serve(newEdge(t, config)(done), r)
	who, err := pseudonym.IP(netip.MustParseAddr("192.0.2.7"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := port.Requests()[0].Subject(), who.Digest(newKey(t)); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Ensure that the local limiter limits each subject, in the same words as a
// port, without regard to routes' policies and costs.
func TestEdgeLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, err := locallimit.New(locallimit.Config{Limit: 2, Window: time.Minute, MaxSubjects: 10})
		if err != nil {
			t.Fatal(err)
		}
		handler := newEdge(t, edge.Config{Local: local, Routes: []edge.Route{
			{Pattern: "/costly", Policy: "unknown-here", Cost: 5},
			{Pattern: "/health", Exempt: true},
		}})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if decision, ok := edge.DecisionFrom(r.Context()); ok && decision.Source != edge.LocalProcess {
				t.Errorf("source is %s, want %s", decision.Source, edge.LocalProcess)
			}
		}))
		type step struct {
			path, peer, limit string
			code              int
		}
		for i, s := range []step{
			{"/costly", "192.0.2.1:1", `"local";r=1;t=60`, http.StatusOK},
			{"/health", "192.0.2.1:1", ``, http.StatusOK},
			{"/", "192.0.2.1:2", `"local";r=0;t=60`, http.StatusOK},
			{"/", "192.0.2.1:3", `"local";r=0;t=60`, http.StatusTooManyRequests},
			{"/health", "192.0.2.1:1", ``, http.StatusOK},
			{"/", "192.0.2.2:1", `"local";r=1;t=60`, http.StatusOK},
		} {
			r := get(s.path)
			r.RemoteAddr = s.peer
			w := serve(handler, r)
			if w.Code != s.code || w.Header().Get("RateLimit") != s.limit {
				t.Errorf("step %d: got %d %s, want %d %s", i, w.Code, w.Header().Get("RateLimit"), s.code, s.limit)
			}
			if want := `"local";q=2;w=60`; s.limit != "" && w.Header().Get("RateLimit-Policy") != want {
				t.Errorf("step %d: got %s, want %s", i, w.Header().Get("RateLimit-Policy"), want)
			}
		}
	})
}

// Ensure that a handler behind the edge can flush what it has written.
func TestEdgeLetsHandlersFlush(t *testing.T) {
	config, _ := newConfig(t)
	flushed := make(chan struct{})
	server := httptest.NewServer(newEdge(t, config)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "first")
		w.(http.Flusher).Flush()
		<-flushed
	})))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		close(flushed)
		t.Fatal(err)
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	close(flushed)
	if err != nil || line != "first\n" {
		t.Errorf("got %q, %v, want the first line before the handler ends", line, err)
	}
}

// Ensure that a handler behind the edge can take over the connection, that what
// it then does is not limited, and that a denial comes before any upgrade.
func TestEdgeLetsHandlersHijack(t *testing.T) {
	config, port := newConfig(t, edge.Route{Pattern: "/", Policy: "heavy", Cost: 100})
	server := httptest.NewServer(newEdge(t, config)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, stream, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		fmt.Fprint(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		stream.Flush()
		io.Copy(connection, stream)
	})))
	defer server.Close()
	for i := range 11 {
		want := http.StatusSwitchingProtocols
		if i == 10 {
			want = http.StatusTooManyRequests
		}
		if got := upgrade(t, server.Listener.Addr().String()); got != want {
			t.Fatalf("upgrade %d: got %d, want %d", i, got, want)
		}
	}
	if got := len(port.Requests()); got != 11 {
		t.Errorf("%d requests were decided, want one per upgrade", got)
	}
}

// upgrade asks for an upgrade and returns the status. Over a connection that was
// upgraded it sends frames and gets them back.
func upgrade(t *testing.T, address string) int {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return response.StatusCode
	}
	for range 20 {
		fmt.Fprintln(connection, "frame")
		if line, err := reader.ReadString('\n'); err != nil || line != "frame\n" {
			t.Fatalf("got %q, %v, want the frame", line, err)
		}
	}
	return response.StatusCode
}

// Ensure that all faults come at once, each with the field it is about.
func TestNewFaults(t *testing.T) {
	local, err := locallimit.New(locallimit.Config{Limit: 1, Window: time.Minute, MaxSubjects: 1})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*edge.Config)
		want   []string
	}{
		{"none", func(*edge.Config) {}, nil},
		{"no decider", func(c *edge.Config) { c.Port = nil }, []string{"port"}},
		{"two deciders", func(c *edge.Config) { c.Local = local }, []string{"port"}},
		{"local needs no more", func(c *edge.Config) { *c = edge.Config{Local: local} }, nil},
		{"nothing to decide with", func(c *edge.Config) { c.Catalog, c.Pseudonym = nil, nil }, []string{"pseudonym", "catalog"}},
		{"unknown default", func(c *edge.Config) { c.DefaultPolicy = "other" }, []string{"default-policy"}},
		{"unknown words", func(c *edge.Config) {
			c.DefaultRoute, c.Preflight, c.Headers, c.LegacyReset, c.Deadline = "a", "b", "c", "d", -1
		}, []string{"default-route", "preflight", "deadline", "headers", "legacy-reset"}},
		{"routes", func(c *edge.Config) {
			c.Routes = []edge.Route{
				{Pattern: "GET /a/{x}"},
				{Pattern: "GET /a/{y}"},
				{Pattern: ""},
				{Pattern: "no slash"},
				{Pattern: "GET  /{"},
				{Pattern: "/b", Policy: "other"},
				{Pattern: "/c", Cost: -1},
				{Pattern: "/d", Cost: 11},
				{Pattern: "/e", Policy: "heavy", Cost: 101},
				{Pattern: "/f", Exempt: true, Cost: 1},
				{Pattern: "/g", Exempt: true, Policy: "heavy"},
				{Pattern: "get /a/{z}"},
				{Pattern: "Example.org/h"},
				{Pattern: "example.ORG/h"},
				{Pattern: "POST\t/a/{x}"},
				{Pattern: "GET\t /a/{z}"},
				{Pattern: "localhost:8080/i"},
				{Pattern: "[::1]:8080/i"},
				{Pattern: "example.org./h"},
				{Pattern: "/j//k"},
				{Pattern: "CONNECT /j/../k"},
			}
		}, []string{
			"routes[1].pattern", "routes[2].pattern", "routes[3].pattern", "routes[4].pattern", "routes[5].policy",
			"routes[6].cost", "routes[7].cost", "routes[8].cost", "routes[9].exempt", "routes[10].exempt",
			"routes[11].pattern", "routes[13].pattern", "routes[15].pattern", "routes[16].pattern", "routes[17].pattern",
			"routes[18].pattern", "routes[19].pattern", "routes[20].pattern",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := newConfig(t)
			test.change(&config)
			_, err := edge.New(config)
			if err == nil && test.want == nil {
				return
			}
			faults, ok := errors.AsType[ratelimit.Faults](err)
			if !ok {
				t.Fatalf("got %v, want faults", err)
			}
			var got []string
			for _, fault := range faults {
				got = append(got, fault.Field)
				if strings.Contains(fault.Problem, ".go") || strings.ContainsAny(fault.Problem, "\n\t") {
					t.Errorf("%s tells of source code or has lines: %q", fault.Field, fault.Problem)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// Ensure that nobody has a decision who has not passed the edge.
func TestDecisionFromElsewhere(t *testing.T) {
	if decision, ok := edge.DecisionFrom(t.Context()); ok || decision != (ratelimit.Decision{}) {
		t.Errorf("got %v %t", decision, ok)
	}
}

func BenchmarkEdge(b *testing.B) {
	catalog := newCatalog(b)
	policy, _ := catalog.Current().Policy("standard")
	benchmarks := map[string]struct {
		routes []edge.Route
		path   string
	}{
		"no routes":    {nil, "/quotes/7/calculate"},
		"plain path":   {[]edge.Route{{Pattern: "/quotes/{id}/calculate", Cost: 10}, {Pattern: "/health", Exempt: true}}, "/quotes/7/calculate"},
		"unclean path": {[]edge.Route{{Pattern: "/quotes/{id}/calculate", Cost: 10}, {Pattern: "/health", Exempt: true}}, "/quotes//7/calculate"},
		"exempt":       {[]edge.Route{{Pattern: "/quotes/{id}/calculate", Cost: 10}, {Pattern: "/health", Exempt: true}}, "/health"},
	}
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, benchmark := range benchmarks {
		b.Run(name, func(b *testing.B) {
			handler := newEdge(b, edge.Config{
				Port:          ratelimittest.AlwaysAllows(policy),
				Catalog:       catalog,
				Pseudonym:     newKey(b),
				DefaultPolicy: "standard",
				Routes:        benchmark.routes,
				Headers:       answer.BothHeaders,
			})(nothing)
			w, r := httptest.NewRecorder(), get(benchmark.path)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}

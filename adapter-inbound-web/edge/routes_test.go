package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that every spelling of a path is charged for the dearest route that it
// may mean, and that none slips past a costly route or into an exempt one.
func TestEdgeChargesTheDearestReading(t *testing.T) {
	routes := []edge.Route{
		{Pattern: "POST /quotes/{id}/calculate", Policy: "heavy", Cost: 10},
		{Pattern: "/reports/", Policy: "heavy", Cost: 20},
		{Pattern: "/static/", Exempt: true},
		{Pattern: "GET /health", Exempt: true},
		{Pattern: "/exports", Exempt: true},
		{Pattern: "/exports/", Policy: "heavy", Cost: 30},
		{Pattern: "/one", Policy: "heavy"},
		{Pattern: "api.example.org/", Policy: "heavy", Cost: 40},
		{Pattern: "/a%2Fb", Policy: "heavy", Cost: 50},
	}
	const none = ""
	tests := []struct{ name, method, target, want string }{
		{"as written", "POST", "/quotes/7/calculate", "heavy 10"},
		{"with a query", "POST", "/quotes/7/calculate?x=/../..", "heavy 10"},
		{"another method", "GET", "/quotes/7/calculate", "standard 1"},
		{"lower-case method", "post", "/quotes/7/calculate", "heavy 10"},
		{"mixed-case method", "PoSt", "/quotes/7/calculate", "heavy 10"},
		{"trailing slash", "POST", "/quotes/7/calculate/", "heavy 10"},
		{"trailing slashes", "POST", "/quotes/7/calculate///", "heavy 10"},
		{"double slash in front", "POST", "//quotes/7/calculate", "heavy 10"},
		{"double slash inside", "POST", "/quotes//7//calculate", "heavy 10"},
		{"escaped slash", "POST", "/quotes%2f7/calculate", "heavy 10"},
		{"escaped slash, upper case", "POST", "/quotes/7%2Fcalculate", "heavy 10"},
		{"escaped trailing slash", "POST", "/quotes/7/calculate%2F", "heavy 10"},
		{"escaped slash in a wildcard", "POST", "/quotes/7%2F8/calculate", "heavy 10"},
		{"escaped slash beside a byte that should be escaped", "POST", "/quotes/7|%2F8/calculate", "heavy 10"},
		{"escaped letter", "POST", "/quote%73/7/calculate", "heavy 10"},
		{"single dot", "POST", "/quotes/./7/calculate", "heavy 10"},
		{"double dot", "POST", "/other/../quotes/7/calculate", "heavy 10"},
		{"double dots above the root", "POST", "/../../quotes/7/calculate", "heavy 10"},
		{"dots at the end", "POST", "/quotes/7/calculate/x/..", "heavy 10"},
		{"dot at the end", "POST", "/quotes/7/calculate/.", "heavy 10"},
		{"escaped dots", "POST", "/other/%2e%2E/quotes/7/calculate", "heavy 10"},
		{"escaped dots beside an escaped slash", "POST", "/other/%2e%2e/quotes/7%2F8/calculate", "heavy 10"},
		{"escaped dots as a name", "POST", "/quotes/%2e%2e/calculate", "heavy 10"},
		{"dots behind an escaped slash", "POST", "/other/..%2fquotes/7/calculate", "heavy 10"},
		{"all at once", "pOST", "//other//%2e./quotes%2F7//calculate/", "heavy 10"},
		{"absolute form", "POST", "http://example.org/quotes/7/calculate", "heavy 10"},
		{"port and dot in the host", "GET", "http://API.example.org.:80/", "heavy 40"},
		{"host", "GET", "http://api.example.org/", "heavy 40"},

		{"CONNECT with a port", "CONNECT", "http://api.example.org:443/x", "heavy 40"},
		{"another host", "GET", "http://example.org:443/x", "standard 1"},

		{"subtree", "GET", "/reports/2026", "heavy 20"},
		{"subtree's root", "GET", "/reports/", "heavy 20"},
		{"subtree's root without slash", "GET", "/reports", "heavy 20"},
		{"subtree's root without slash, unclean", "GET", "//reports", "heavy 20"},

		{"exempt", "GET", "/health", none},
		{"exempt, HEAD", "HEAD", "/health", none},
		{"exempt, trailing slash", "GET", "/health/", none},
		{"exempt, unclean", "GET", "//health", none},
		{"exempt for GET only", "POST", "/health", "standard 1"},
		{"exempt subtree", "GET", "/static/logo.svg", none},
		{"exempt subtree, dotfile", "GET", "/static/.well-known", none},
		{"into an exempt subtree by dots", "POST", "/static/../quotes/7/calculate", "heavy 10"},
		{"into an exempt subtree by escaped dots", "POST", "/static/%2e%2e/quotes/7/calculate", "heavy 10"},
		{"into an exempt subtree by an escaped slash", "POST", "/static/..%2fquotes%2f7%2fcalculate", "heavy 10"},
		{"out of an exempt subtree to no route", "GET", "/static/..%2fother", "standard 1"},
		{"into an exempt subtree from no route", "GET", "/other%2f..%2fstatic%2flogo.svg", "standard 1"},

		{"both forms have a route", "GET", "/exports", "heavy 30"},
		{"both forms have a route, with slash", "GET", "/exports/", "heavy 30"},
		{"same cost as the default", "GET", "/one", "heavy 1"},
		{"same cost as the default in another reading", "GET", "/x%2f..%2fone", "heavy 1"},
		{"slash that belongs to a name", "GET", "/a%2Fb", "heavy 50"},
		{"no route", "GET", "/other", "standard 1"},
		{"root", "GET", "/", "standard 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t, routes...)
			r := httptest.NewRequest(http.MethodGet, test.target, nil)
			r.Method = test.method
			if w := serve(newEdge(t, config)(done), r); w.Code != http.StatusOK {
				t.Fatalf("got %d, want 200", w.Code)
			}
			want := []string{test.want}
			if test.want == none {
				want = []string{}
			}
			if got := charges(port); !slices.Equal(got, want) {
				t.Errorf("%s %s was charged %v, want %v", test.method, test.target, got, want)
			}
		})
	}
}

// Ensure that a catch-all route does not take the place of what is more
// specific, slash or not.
func TestEdgeCatchAll(t *testing.T) {
	tests := map[string]string{
		"/health": "", "/health/": "heavy 40", "/other": "heavy 40", "/": "heavy 40",
		"/files": "standard 2", "/files/": "standard 2", "/files/x": "standard 2", "//files": "standard 2",
	}
	for target, want := range tests {
		t.Run(target, func(t *testing.T) {
			config, port := newConfig(t,
				edge.Route{Pattern: "/health", Exempt: true},
				edge.Route{Pattern: "/", Policy: "heavy", Cost: 40},
				edge.Route{Pattern: "/files/{rest...}", Cost: 2},
			)
			r := get("/")
			r.URL.Path = target
			serve(newEdge(t, config)(done), r)
			if got := strings.Join(charges(port), ", "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Ensure that one reading without a route is enough to be rejected, and that a
// slash at the end is none.
func TestEdgeRejectsUnroutedReadings(t *testing.T) {
	tests := map[string]int{
		"/quotes":              http.StatusOK,
		"/quotes/":             http.StatusOK,
		"//quotes":             http.StatusOK,
		"/health":              http.StatusOK,
		"/other":               http.StatusNotFound,
		"/other%2f..%2fquotes": http.StatusNotFound,
		"/x%2f..%2fhealth":     http.StatusNotFound,
	}
	for target, want := range tests {
		t.Run(target, func(t *testing.T) {
			config, _ := newConfig(t, edge.Route{Pattern: "/quotes", Cost: 10}, edge.Route{Pattern: "/health", Exempt: true})
			config.DefaultRoute = edge.RejectDefault
			if w := serve(newEdge(t, config)(done), httptest.NewRequest(http.MethodGet, target, nil)); w.Code != want {
				t.Errorf("got %d, want %d", w.Code, want)
			}
		})
	}
}

// Ensure that request targets without a usual path are charged and do no harm.
func TestEdgeTakesAnyTarget(t *testing.T) {
	tests := []struct {
		name, method string
		url          url.URL
		want         string
	}{
		{"CONNECT", "CONNECT", url.URL{Host: "example.org:443"}, "heavy 5"},
		{"CONNECT, lower case", "connect", url.URL{Host: "example.org:443"}, "heavy 5"},
		{"CONNECT with a path", "CONNECT", url.URL{Host: "example.org", Path: "/costly"}, "heavy 10"},
		{"CONNECT with an unclean path", "CONNECT", url.URL{Host: "example.org", Path: "//x/../costly/"}, "heavy 10"},
		{"asterisk", "OPTIONS", url.URL{Path: "*"}, "heavy 5"},
		{"empty path", "GET", url.URL{}, "heavy 5"},
		{"no root", "GET", url.URL{Path: "costly"}, "heavy 10"},
		{"opaque", "GET", url.URL{Scheme: "http", Opaque: "costly"}, "heavy 10"},
		{"opaque with a broken escape", "GET", url.URL{Scheme: "http", Opaque: "%zz"}, "heavy 5"},
		{"broken raw path", "GET", url.URL{Path: "/costly", RawPath: "/%zz"}, "heavy 10"},
		{"raw path of another path", "GET", url.URL{Path: "/costly", RawPath: "/cheap"}, "heavy 10"},
		{"empty method", "", url.URL{Path: "/costly"}, "heavy 10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t,
				edge.Route{Pattern: "/", Policy: "heavy", Cost: 5},
				edge.Route{Pattern: "/costly", Policy: "heavy", Cost: 10},
			)
			r := get("/")
			r.Method, r.URL = test.method, &test.url
			serve(newEdge(t, config)(done), r)
			if got := strings.Join(charges(port), ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Ensure that no path that reads like the costly one, sent or decoded, cleaned
// and without a slash at its end, costs less; and that nothing panics.
func FuzzEdgeRoutes(f *testing.F) {
	for _, target := range []string{
		"/costly/7/run", "//costly/./7/run/", "/exempt/..%2fcostly%2f7%2frun", "/exempt/%2e%2e/costly/%37/run", "/exempt/x", "/a|b%2f..%2fcostly/1/run", "*", "http:costly/7/run",
	} {
		f.Add("POST", target)
		f.Add("post", target)
	}
	config, memory := newConfig(f,
		edge.Route{Pattern: "POST /costly/{id}/run", Policy: "heavy", Cost: 100},
		edge.Route{Pattern: "/exempt/", Exempt: true},
		edge.Route{Pattern: "/cheap", Cost: 1},
		edge.Route{Pattern: "/{$}", Exempt: true},
	)
	var charged int64
	config.Port = portFunc(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		charged += request.Cost()
		return memory.Next.Evaluate(ctx, request)
	})
	handler := newEdge(f, config)(done)
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := get("/")
		r.Method, r.URL = method, u
		charged = 0
		serve(handler, r)
		costly := isCostly(u.EscapedPath()) || isCostly(u.RawPath) || isCostly(u.Path)
		if costly && strings.EqualFold(method, "POST") && charged != 100 {
			t.Errorf("%q %q was charged %d, want 100", method, target, charged)
		}
	})
}

// isCostly finds the costly path without net/http's patterns.
func isCostly(p string) bool {
	segments := strings.Split(path.Clean("/"+p), "/")
	if len(segments) != 4 {
		return false
	}
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return false
		}
		segments[i] = decoded
	}
	return segments[1] == "costly" && segments[3] == "run"
}

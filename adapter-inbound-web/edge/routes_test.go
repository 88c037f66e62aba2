package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
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
		{Pattern: "POST /login", Policy: "tight"},
		{Pattern: "/bulk/", Policy: "heavy", Cost: 100},
		{Pattern: "[2001:DB8::1]/", Policy: "heavy", Cost: 60},
		{Pattern: "Final.example.org./", Policy: "heavy", Cost: 70},
		{Pattern: "PUT\t /tabbed", Policy: "heavy", Cost: 80},
		{Pattern: "/v;1", Policy: "heavy", Cost: 90},
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
		{"cost of a more generous policy than the default's", "GET", "/x%2f..%2fone", "standard 1"},
		{"share of the default's, at a higher cost", "POST", "/x%2f..%2fquotes/7/calculate", "heavy 10"},
		{"slash that belongs to a name", "GET", "/a%2Fb", "heavy 50"},
		{"strict route", "POST", "/login", "tight 1"},
		{"strict route from a costlier one, by escaped dots", "POST", "/bulk/%2e%2e/login", "tight 1"},
		{"strict route from a costlier one, by an escaped slash", "POST", "/bulk/..%2flogin", "tight 1"},
		{"strict route into a costlier one", "POST", "/login%2f..%2fbulk%2fx", "heavy 100"},
		{"strict route from an exempt one", "POST", "/static/..%2flogin", "tight 1"},

		{"path parameter", "POST", "/quotes/1/calculate;v=1", "heavy 10"},
		{"path parameter without a name", "POST", "/quotes/1/calculate;", "heavy 10"},
		{"path parameters", "POST", "/quotes;a/1;b;c=d/calculate;e/", "heavy 10"},
		{"path parameter with a slash", "POST", "/quotes/1/calculate;v=%2f", "heavy 10"},
		{"path parameter on dots", "POST", "/other/..;v=1/quotes/1/calculate", "heavy 10"},
		{"path parameter on escaped dots", "POST", "/other/%2e%2e;/quotes/1/calculate", "heavy 10"},
		{"path parameter, escaped", "POST", "/quotes/1/calculate%3bv=1", "heavy 10"},
		{"path parameter behind an escaped one", "POST", "/quotes/1;%2fz/calculate%3Bx", "heavy 10"},
		{"path parameter into an exempt route", "GET", "/health;x", "standard 1"},
		{"semicolon that belongs to a name", "GET", "/v;1", "heavy 90"},

		{"IPv6 host", "GET", "http://[2001:db8::1]/", "heavy 60"},
		{"IPv6 host with a port", "GET", "http://[2001:db8::1]:80/", "heavy 60"},
		{"final dot in a pattern's host", "GET", "http://final.example.org/", "heavy 70"},
		{"tab in a pattern", "PUT", "/tabbed", "heavy 80"},

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

// Ensure that the dearest reading follows the policies in force, and that one
// whose policy is gone lets nobody slip past.
func TestEdgeRanksByThePoliciesInForce(t *testing.T) {
	config, port := newConfig(t, edge.Route{Pattern: "/a/", Policy: "tight"}, edge.Route{Pattern: "/b/", Policy: "heavy"})
	handler := newEdge(t, config)(done)
	for _, step := range []struct {
		name     string
		policies []ratelimit.Policy
		want     string
	}{
		{"as constructed", nil, "tight 1"},
		{"turned around", []ratelimit.Policy{newPolicy(t, "tight", 1000, 10), newPolicy(t, "heavy", 5, 5)}, "heavy 1"},
		{"one is gone", []ratelimit.Policy{newPolicy(t, "heavy", 1, 1)}, "tight 1"},
	} {
		if step.policies != nil {
			snapshot, err := ratelimit.NewSnapshot(append(step.policies, newPolicy(t, "standard", 100, 10))...)
			if err != nil {
				t.Fatal(err)
			}
			config.Catalog.Replace(snapshot)
		}
		for _, target := range []string{"/a/..%2fb%2f", "/b/..%2fa%2f"} {
			before := len(port.Requests())
			serve(handler, httptest.NewRequest(http.MethodGet, target, nil))
			if got := charges(port)[before:]; !slices.Equal(got, []string{step.want}) {
				t.Errorf("%s: %s was charged %v, want %s", step.name, target, got, step.want)
			}
		}
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

// Ensure that no path that reads like the strict one, sent or decoded, cleaned,
// without path parameters and without a slash at its end, is charged under
// another policy, whatever those cost; and that nothing panics.
func FuzzEdgeRoutes(f *testing.F) {
	for _, target := range []string{
		"/costly/7/run", "//costly/./7/run/", "/exempt/..%2fcostly%2f7%2frun", "/exempt/%2e%2e/costly/%37/run", "/exempt/x", "/a|b%2f..%2fcostly/1/run",
		"/bulk/..%2fcostly%2f7%2frun", "/bulk/..;/costly;a/7/run%3b", "/costly/7/run;v=1", "*", "http:costly/7/run",
	} {
		f.Add("POST", target)
		f.Add("post", target)
	}
	config, memory := newConfig(f,
		edge.Route{Pattern: "POST /costly/{id}/run", Policy: "tight"},
		edge.Route{Pattern: "/bulk/", Policy: "heavy", Cost: 100},
		edge.Route{Pattern: "/exempt/", Exempt: true},
		edge.Route{Pattern: "/cheap", Cost: 1},
		edge.Route{Pattern: "/{$}", Exempt: true},
	)
	var charged []string
	config.Port = portFunc(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		charged = append(charged, request.PolicyID())
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
		charged = nil
		serve(handler, r)
		costly := slices.ContainsFunc([]string{u.EscapedPath(), u.RawPath, u.Path}, func(p string) bool {
			return isCostly(p) || isCostly(parameters.ReplaceAllString(p, ""))
		})
		if costly && strings.EqualFold(method, "POST") && !slices.Equal(charged, []string{"tight"}) {
			t.Errorf("%q %q was charged under %v, want tight", method, target, charged)
		}
	})
}

var parameters = regexp.MustCompile(";[^/]*")

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

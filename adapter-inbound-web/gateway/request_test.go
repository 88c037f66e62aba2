package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/subject"
)

// Ensure that method and target reach the application as the client wrote them,
// but for a path that is not clean.
func TestGateway_Target(t *testing.T) {
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.RequestURI)
	})
	for _, test := range []struct{ name, sent, want string }{
		{"plain", "GET /a/b?x=1", "GET /a/b?x=1"},
		{"root", "GET /", "GET /"},
		{"method of one's own", "BREW /pot", "BREW /pot"},
		{"empty query", "GET /a?", "GET /a?"},
		{"query that no parser likes", "GET /a?b;c&%zz&d=%", "GET /a?b;c&%zz&d=%"},
		{"escaped slash", "GET /a%2Fb%2fc", "GET /a%2Fb%2fc"},
		{"needless escapes", "GET /%61%7e", "GET /%61%7e"},
		{"path parameters", "GET /a;v=1/b", "GET /a;v=1/b"},
		{"double slash", "GET //a///b//", "GET /a/b/"},
		{"dots", "GET /a/../b/./c/..", "GET /b"},
		{"dots out of the root", "GET /../../etc", "GET /etc"},
		{"escaped dots stay", "GET /a/%2e%2e/b", "GET /a/%2e%2e/b"},
		{"escaped slash beside dots", "GET /a%2Fb/../c%2Fd", "GET /c%2Fd"},
		{"slash at the end", "GET /a/", "GET /a/"},
		{"bytes to be escaped", "GET /a\"b|c%2Fd", "GET /a%22b%7Cc%2Fd"},
		{"UTF-8, not escaped", "GET /é%2F", "GET /%C3%A9%2F"},
		{"absolute", "GET http://elsewhere/a/../b?q", "GET /b?q"},
		{"absolute without path", "GET http://elsewhere", "GET /"},
		{"absolute, odd", "GET http:path", "GET /path"},
		{"general options", "OPTIONS *", "OPTIONS *"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := raw(t, gatewayURL, test.sent+" HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n")
			if got.StatusCode != http.StatusOK || got.body != test.want {
				t.Errorf("the application sees %d %q, want %q", got.StatusCode, got.body, test.want)
			}
		})
	}
}

// Ensure that no target makes the gateway panic or send a request line that can
// be read in two ways.
func FuzzGateway_Target(f *testing.F) {
	for _, target := range []string{"/", "/a b", "/a?b c", "/%2e%2e/..//", "*", "/\x80", "/a%2", "http:%zz", "//"} {
		f.Add(target)
	}
	var seen string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.RequestURI }))
	f.Cleanup(server.Close)
	forward, err := gateway.New(to(server.URL))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(forward.Close)
	f.Fuzz(func(t *testing.T, target string) {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		parsed, err := request.URL.Parse(target)
		if err != nil {
			return
		}
		request.URL.Path, request.URL.RawPath, request.URL.RawQuery = parsed.Path, parsed.RawPath, parsed.RawQuery
		seen = ""
		w := httptest.NewRecorder()
		forward.ServeHTTP(w, request)
		if w.Code != http.StatusOK {
			t.Fatalf("%q is answered %d %s", target, w.Code, w.Body)
		}
		if !strings.HasPrefix(seen, "/") || strings.ContainsAny(seen, " \r\n") {
			t.Errorf("%q is sent on as %q", target, seen)
		}
	})
}

// Ensure that one family of forwarding fields is written, that the other is
// removed, and that only a trusted proxy is believed.
func TestGateway_ForwardingFields(t *testing.T) {
	here := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	claims := []string{
		"X-Forwarded-For", "203.0.113.7", "X-Forwarded-For", "203.0.113.8, 10.0.0.2",
		"X-Forwarded-Host", "claimed.example", "X-Forwarded-Proto", "https",
		"X-Forwarded-Prefix", "/claimed", "X-Real-Ip", "203.0.113.9",
		"Forwarded", "for=203.0.113.7", "Forwarded", "for=203.0.113.8;proto=https",
	}
	for _, test := range []struct {
		name, peer string
		forwarded  gateway.Forwarded
		proxies    subject.Forwarded
		trusted    []netip.Prefix
		header     []string
		want       map[string]string
	}{
		{"nothing claimed", "192.0.2.1:4711", gateway.XForwarded, subject.XForwardedFor, here, nil, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"the zero value is X-Forwarded", "192.0.2.1:4711", "", "", nil, nil, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"claims of a client", "192.0.2.1:4711", gateway.XForwarded, subject.XForwardedFor, here, claims, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"words of a proxy", "10.0.0.1:4711", gateway.XForwarded, subject.XForwardedFor, here, claims, map[string]string{
			"X-Forwarded-For": "203.0.113.7, 203.0.113.8, 10.0.0.2, 10.0.0.1", "X-Forwarded-Host": "claimed.example", "X-Forwarded-Proto": "https",
			"X-Forwarded-Prefix": "/claimed", "X-Real-Ip": "203.0.113.9"}},
		{"proxy in the other form", "[::ffff:10.0.0.1]:4711", gateway.XForwarded, subject.XForwardedFor, here, claims[:2], map[string]string{
			"X-Forwarded-For": "203.0.113.7, 10.0.0.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"IPv6", "[fe80::1%eth0]:4711", gateway.XForwarded, subject.XForwardedFor, here, nil, map[string]string{
			"X-Forwarded-For": "fe80::1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"no address", "@", gateway.XForwarded, subject.XForwardedFor, here, claims, map[string]string{
			"X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"a client names the fields as hop-by-hop", "192.0.2.1:4711", gateway.XForwarded, subject.XForwardedFor, here, []string{"Connection", "X-Forwarded-For, X-Request-Id"}, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},

		{"standard, nothing claimed", "192.0.2.1:4711", gateway.StandardForwarded, subject.StandardForwarded, here, nil, map[string]string{
			"Forwarded": `for=192.0.2.1;proto=http;host="app.example:8080"`}},
		{"standard, claims of a client", "192.0.2.1:4711", gateway.StandardForwarded, subject.StandardForwarded, here, claims, map[string]string{
			"Forwarded": `for=192.0.2.1;proto=http;host="app.example:8080"`}},
		{"standard, words of a proxy", "10.0.0.1:4711", gateway.StandardForwarded, subject.StandardForwarded, here, claims, map[string]string{
			"Forwarded": `for=203.0.113.7, for=203.0.113.8;proto=https, for=10.0.0.1;proto=http;host="app.example:8080"`}},
		{"standard, IPv6", "[2001:db8::1]:4711", gateway.StandardForwarded, subject.StandardForwarded, here, nil, map[string]string{
			"Forwarded": `for="[2001:db8::1]";proto=http;host="app.example:8080"`}},
		{"standard, no address", "@", gateway.StandardForwarded, subject.StandardForwarded, here, nil, map[string]string{
			"Forwarded": `for=unknown;proto=http;host="app.example:8080"`}},

		{"a proxy that writes the other family", "10.0.0.1:4711", gateway.XForwarded, subject.StandardForwarded, here, claims, map[string]string{
			"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
		{"standard, a proxy that writes the other family", "10.0.0.1:4711", gateway.StandardForwarded, subject.XForwardedFor, here, claims, map[string]string{
			"Forwarded": `for=10.0.0.1;proto=http;host="app.example:8080"`}},
		{"standard, a proxy of the zero value", "10.0.0.1:4711", gateway.StandardForwarded, "", here, claims, map[string]string{
			"Forwarded": `for=10.0.0.1;proto=http;host="app.example:8080"`}},
		{"a proxy of the zero value", "10.0.0.1:4711", gateway.XForwarded, "", here, claims[:2], map[string]string{
			"X-Forwarded-For": "203.0.113.7, 10.0.0.1", "X-Forwarded-Host": "app.example:8080", "X-Forwarded-Proto": "http"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen http.Header
			config := to(serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })).URL)
			config.Forwarded, config.ProxiesWrite, config.TrustedProxies = test.forwarded, test.proxies, test.trusted
			request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			request.RemoteAddr, request.Host = test.peer, "app.example:8080"
			for i := 0; i+1 < len(test.header); i += 2 {
				request.Header.Add(test.header[i], test.header[i+1])
			}
			newGateway(t, config).ServeHTTP(httptest.NewRecorder(), request)
			for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Real-Ip", "Forwarded"} {
				if got := strings.Join(seen[name], " | "); got != test.want[name] {
					t.Errorf("the application sees %s: %s, want %s", name, got, test.want[name])
				}
			}
		})
	}
}

// Ensure that no spelling of a field which the gateway removes or replaces passes
// it that an application could take for that field.
func TestGateway_AmbiguousFields(t *testing.T) {
	var seen http.Header
	gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() },
		func(c *gateway.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	raw(t, gatewayURL, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+
		"X_Forwarded_For: 203.0.113.7\r\nX-Forwarded_Host: claimed.example\r\nx_real-ip: 203.0.113.7\r\n"+
		"Weir_Management_Token: x\r\nX_RateLimit-Limit: 5\r\nX_Api_Key: x\r\n_: x\r\nX-Kept: x\r\n\r\n")
	if seen.Get("X-Kept") == "" {
		t.Error("X-Kept does not pass")
	}
	for name := range seen {
		if strings.Contains(name, "_") {
			t.Errorf("%s passes", name)
		}
	}
}

// Ensure that what only a proxy has to say passes from a trusted one alone.
func TestGateway_ProxyFields(t *testing.T) {
	names := []string{"X-Forwarded", "X-Client-Ip", "True-Client-Ip", "X-Original-Url", "X-Rewrite-Url"}
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, test := range []struct {
		name      string
		trusted   []netip.Prefix
		forwarded gateway.Forwarded
		proxies   subject.Forwarded
		passes    bool
	}{
		{"client", nil, gateway.XForwarded, subject.XForwardedFor, false},
		{"proxy", here, gateway.XForwarded, subject.XForwardedFor, true},
		{"standard, proxy", here, gateway.StandardForwarded, subject.StandardForwarded, true},
		{"proxy that writes the other family", here, gateway.XForwarded, subject.StandardForwarded, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen http.Header
			gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() },
				func(c *gateway.Config) {
					c.TrustedProxies, c.Forwarded, c.ProxiesWrite = test.trusted, test.forwarded, test.proxies
				})
			request := get(t, gatewayURL)
			for _, field := range names {
				request.Header.Set(field, "claimed")
			}
			send(t, request)
			for _, field := range names {
				if passes := seen.Get(field) != ""; passes != test.passes {
					t.Errorf("%s passes: %t", field, passes)
				}
			}
		})
	}
}

// Ensure that the application sees the client's fields, and not those that are
// between the client and the limiter.
func TestGateway_RequestFields(t *testing.T) {
	var seen *http.Request
	gatewayURL := inFrontOf(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Clone(context.Background()) })
	request := get(t, gatewayURL,
		"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate", "a=1", "Tracestate", "b=2",
		"X-Request-Id", "client-1", "Authorization", "Bearer x", "Cookie", "a=b", "Accept-Encoding", "br",
		"RateLimit", "\"x\";r=1", "RateLimit-Policy", "x", "RateLimit-Limit", "5", "X-RateLimit-Remaining", "5", "X-Ratelimit-Reset", "5",
		"Weir-Management-Token", "x", "Weir-Anything", "x",
		"Connection", "X-Hop", "X-Hop", "x", "Keep-Alive", "timeout=5", "Proxy-Authorization", "x", "Te", "gzip",
	)
	request.Host = "app.example"
	send(t, request)
	if seen.Host != "app.example" {
		t.Errorf("Host is %q", seen.Host)
	}
	for name, want := range map[string]string{
		"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate": "a=1|b=2",
		"X-Request-Id": "client-1", "Authorization": "Bearer x", "Cookie": "a=b", "Accept-Encoding": "br",
		"Ratelimit": "", "Ratelimit-Policy": "", "Ratelimit-Limit": "", "X-Ratelimit-Remaining": "", "X-Ratelimit-Reset": "",
		"Weir-Management-Token": "", "Weir-Anything": "",
		"Connection": "", "X-Hop": "", "Keep-Alive": "", "Proxy-Authorization": "", "Te": "",
	} {
		if got := strings.Join(seen.Header[name], "|"); got != want {
			t.Errorf("the application sees %s: %q, want %q", name, got, want)
		}
	}
}

// Ensure that the application gets an ID that is well-formed, the client's own
// where it is.
func TestGateway_RequestID(t *testing.T) {
	gatewayURL := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Request-Id"], "|"))
	})
	generated := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	for _, test := range []struct {
		name string
		ids  []string
		want string // empty: a new one
	}{
		{"none", nil, ""},
		{"well-formed", []string{"a-B_c.1"}, "a-B_c.1"},
		{"malformed", []string{"a b"}, ""},
		{"too long", []string{strings.Repeat("a", 65)}, ""},
		{"two", []string{"one", "two"}, "one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := get(t, gatewayURL)
			for _, id := range test.ids {
				request.Header.Add("X-Request-Id", id)
			}
			if got := send(t, request).body; got != test.want && (test.want != "" || !generated.MatchString(got)) {
				t.Errorf("the application sees %q, want %q", got, test.want)
			}
		})
	}
}

// Ensure that a request for a tunnel is refused without asking the application.
func TestGateway_MakesNoTunnel(t *testing.T) {
	gatewayURL := inFrontOf(t, func(http.ResponseWriter, *http.Request) { t.Error("the application was asked") })
	got := raw(t, gatewayURL, "CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\nConnection: close\r\n\r\n")
	if got.StatusCode != http.StatusNotImplemented || got.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("answered %d %s", got.StatusCode, got.body)
	}
}

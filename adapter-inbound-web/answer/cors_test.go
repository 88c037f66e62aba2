package answer_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func newCORS(t testing.TB, origins ...string) *answer.CORS {
	t.Helper()
	cors, err := answer.NewCORS(origins)
	if err != nil {
		t.Fatal(err)
	}
	return cors
}

// Ensure that a script of an allowed page can read a denial, a failure and a
// refusal, and the rate-limit header fields of what passes, and that nothing is
// said to others, or when nothing is configured.
func TestGateAnswersAcrossOrigins(t *testing.T) {
	const page, other, list = "https://example.org", "https://example.net", "https://example.org http://localhost:3000"
	const fields = "RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"
	type want struct {
		vary    bool
		allowed string
		exposed bool
	}
	tests := []struct {
		name    string
		allowed string
		origins []string // of the request
		own     want     // on an answer of Weir's own
		passing want
	}{
		{"not configured", "", []string{page}, want{}, want{}},
		{"no origin", list, nil, want{vary: true}, want{vary: true}},
		{"an allowed page", list, []string{page}, want{true, page, true}, want{vary: true, exposed: true}},
		{"another allowed page", list, []string{"http://localhost:3000"}, want{true, "http://localhost:3000", true}, want{vary: true, exposed: true}},
		{"another page", list, []string{other}, want{vary: true}, want{vary: true}},
		{"the page in another case", list, []string{"HTTPS://example.org"}, want{vary: true}, want{vary: true}},
		{"the page on another port", list, []string{page + ":8443"}, want{vary: true}, want{vary: true}},
		{"a page that begins alike", list, []string{page + ".example.net"}, want{vary: true}, want{vary: true}},
		{"two pages", list, []string{page, other}, want{vary: true}, want{vary: true}},
		{"an empty origin", "*", []string{""}, want{vary: true}, want{vary: true}},
		{"every page", "*", []string{other}, want{true, other, true}, want{vary: true, exposed: true}},
		{"a page without a name", "*", []string{"null"}, want{true, "null", true}, want{vary: true, exposed: true}},
	}
	policy := perMinute(t)
	answers := map[string]func(*answer.Gate, http.ResponseWriter, *http.Request){
		"denied": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) {
			g.Admit(w, r, ratelimit.Evaluated{Decision: denied(policy, time.Second)})
		},
		"unavailable": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) { g.Admit(w, r, saturated()) },
		"incompatible": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) {
			g.Admit(w, r, ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.State}})
		},
		"nil": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) { g.Admit(w, r, nil) },
		"refused": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) {
			g.Refuse(w, r, answer.Unauthorized("X-Api-Key", ""))
		},
		"passing": func(g *answer.Gate, w http.ResponseWriter, r *http.Request) {
			g.Admit(w, r, ratelimit.Evaluated{Decision: allowed(policy)})
		},
	}
	for _, test := range tests {
		for name, write := range answers {
			t.Run(test.name+", "+name, func(t *testing.T) {
				gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), CORS: newCORS(t, strings.Fields(test.allowed)...)})
				r := newRequest()
				if test.origins != nil {
					r.Header["Origin"] = test.origins
				}
				w := httptest.NewRecorder()
				write(gate, w, r)
				want := test.own
				if name == "passing" {
					want = test.passing
				}
				expected := map[string]string{"Access-Control-Allow-Origin": want.allowed}
				if want.vary {
					expected["Vary"] = "Origin"
				}
				if want.exposed {
					expected["Access-Control-Expose-Headers"] = fields
				}
				for _, field := range []string{"Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"} {
					if got := strings.Join(w.Header().Values(field), " | "); got != expected[field] {
						t.Errorf("%s is %q, want %q", field, got, expected[field])
					}
				}
			})
		}
	}
}

// Ensure that just the fields that are written are exposed, beside those that
// others expose, and that each is written.
func TestGateExposesWhatItWrites(t *testing.T) {
	policy := perMinute(t)
	for headers, want := range map[answer.Headers]string{
		"":                   "RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
		answer.BothHeaders:   "RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
		answer.IETFHeaders:   "RateLimit, RateLimit-Policy, Retry-After",
		answer.LegacyHeaders: "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	} {
		t.Run(string(headers), func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), Headers: headers, CORS: newCORS(t, "*")})
			r := newRequest()
			r.Header.Set("Origin", "https://example.org")
			w := httptest.NewRecorder()
			w.Header().Set("Access-Control-Expose-Headers", "X-Page")
			gate.Admit(w, r, ratelimit.Evaluated{Decision: denied(policy, time.Second)})
			if got := w.Header().Values("Access-Control-Expose-Headers"); !slices.Equal(got, []string{"X-Page", want}) {
				t.Errorf("got %q, want X-Page and %q", got, want)
			}
			for _, field := range strings.Split(want, ", ") {
				if w.Header().Get(field) == "" {
					t.Errorf("%s is exposed and not written", field)
				}
			}
		})
	}
}

// Ensure that origins are taken only in the one spelling that browsers send.
func TestNewCORS(t *testing.T) {
	tests := map[string]string{ // the problem; empty for none
		"https://example.org":           "",
		"http://localhost:3000":         "",
		"http://127.0.0.1:1":            "",
		"http://[::1]:65535":            "",
		"https://xn--bcher-kva.example": "",
		"capacitor://localhost":         "",
		"https://example.org/":          `is "https://example.org/", must be written as browsers send it, such as https://example.org`,
		"https://example.org/app":       `is "https://example.org/app", must be written as browsers send it, such as https://example.org`,
		"https://example.org?a":         `is "https://example.org?a", must be written as browsers send it, such as https://example.org`,
		"https://example.org#a":         `is "https://example.org#a", must be written as browsers send it, such as https://example.org`,
		"https://me@example.org":        `is "https://me@example.org", must be written as browsers send it, such as https://example.org`,
		"https://Example.org":           `is "https://Example.org", must be written as browsers send it, such as https://example.org`,
		"HTTPS://example.org":           `is "HTTPS://example.org", must be written as browsers send it, such as https://example.org`,
		"https://example.org:443":       `is "https://example.org:443", must be written as browsers send it, such as https://example.org`,
		"http://example.org:80":         `is "http://example.org:80", must be written as browsers send it, such as http://example.org`,
		"https://example.org:":          `is "https://example.org:", must be written as browsers send it, such as https://example.org`,
		"https://example.org:08443":     `is "https://example.org:08443", must be written as browsers send it, such as https://example.org:8443`,
		"https://example.org:0":         `is "https://example.org:0", must have a port from 1 to 65535 or none`,
		"https://example.org:65536":     `is "https://example.org:65536", must have a port from 1 to 65535 or none`,
		"https://*.example.org":         `is "https://*.example.org", must be an origin such as https://example.org`,
		"https://bücher.example":        `is "https://bücher.example", must be an origin such as https://example.org`,
		"example.org":                   `is "example.org", must be an origin such as https://example.org`,
		"//example.org":                 `is "//example.org", must be an origin such as https://example.org`,
		"https://":                      `is "https://", must be an origin such as https://example.org`,
		"https:example.org":             `is "https:example.org", must be an origin such as https://example.org`,
		"https://a b":                   `is "https://a b", must be an origin such as https://example.org`,
		"null":                          `is "null", must be an origin such as https://example.org`,
		"":                              `is "", must be an origin such as https://example.org`,
		" https://example.org":          `is " https://example.org", must be an origin such as https://example.org`,
	}
	for origin, problem := range tests {
		t.Run(origin, func(t *testing.T) {
			var want string
			if problem != "" {
				want = "allowed-origins[1]: " + problem
			}
			cors, err := answer.NewCORS([]string{"https://example.net", origin})
			if (cors == nil) == (err == nil) || (err != nil) != (want != "") || err != nil && err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	t.Run("every origin and another", func(t *testing.T) {
		_, err := answer.NewCORS([]string{"*", "*"})
		faults, ok := errors.AsType[ratelimit.Faults](err)
		if !ok || len(faults) != 2 || faults[0].Problem != `is "*", which must stand alone` {
			t.Errorf("got %v", err)
		}
	})
	t.Run("none", func(t *testing.T) {
		if cors, err := answer.NewCORS(nil); cors != nil || err != nil {
			t.Errorf("got %v, %v, want nothing", cors, err)
		}
	})
}

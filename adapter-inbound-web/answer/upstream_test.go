package answer_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that a script of an allowed page can read that the application does not
// answer, with the rate-limit header fields if the request was charged, that each
// CORS field is there once, and that nothing is said to others.
func TestUpstreamAnswersAcrossOrigins(t *testing.T) {
	const page, fields = "https://example.org", "RateLimit, RateLimit-Policy, Retry-After"
	tests := []struct {
		name          string
		cors          *answer.CORS
		origin        string
		charged       bool
		vary, allowed []string
		exposed       []string
	}{
		{"not configured", nil, page, true, nil, nil, nil},
		{"an allowed page", newCORS(t, page), page, true, []string{"Origin"}, []string{page}, []string{fields}},
		{"an allowed page, exempt", newCORS(t, page), page, false, []string{"Origin"}, []string{page}, nil},
		{"another page", newCORS(t, page), "https://example.net", true, []string{"Origin"}, nil, nil},
		{"no page", newCORS(t, page), "", false, []string{"Origin"}, nil, nil},
	}
	policy := perMinute(t)
	answers := map[string]func(*answer.Upstream, http.ResponseWriter, *http.Request){
		"unusable": func(u *answer.Upstream, w http.ResponseWriter, r *http.Request) {
			u.Unusable(w, r, errors.New("connection refused"))
		},
		"not answered": func(u *answer.Upstream, w http.ResponseWriter, r *http.Request) {
			u.NotAnswered(w, r, errors.New("timeout"))
		},
		"refused": func(u *answer.Upstream, w http.ResponseWriter, r *http.Request) {
			u.Refuse(w, r, answer.NotTunneled())
		},
	}
	for _, test := range tests {
		for name, write := range answers {
			t.Run(test.name+", "+name, func(t *testing.T) {
				gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), Headers: answer.IETFHeaders, CORS: test.cors})
				r := newRequest()
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
				w := httptest.NewRecorder()
				if test.charged {
					gate.Admit(w, r, ratelimit.Evaluated{Decision: allowed(policy)})
				}
				write(answer.NewUpstream(nil).AcrossOrigins(test.cors), w, r)
				for field, want := range map[string][]string{
					"Vary":                          test.vary,
					"Access-Control-Allow-Origin":   test.allowed,
					"Access-Control-Expose-Headers": test.exposed,
				} {
					if got := w.Header().Values(field); !slices.Equal(got, want) {
						t.Errorf("%s is %q, want %q", field, got, want)
					}
				}
			})
		}
	}
}

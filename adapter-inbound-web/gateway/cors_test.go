package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/weir/adapter-inbound-web/answer"
)

// Ensure that an allowed page can read what the gateway itself answers, and that
// no other page can.
func TestGateway_AnswersAcrossOrigins(t *testing.T) {
	const page = "https://example.org"
	cors, err := answer.NewCORS([]string{page})
	if err != nil {
		t.Fatal(err)
	}
	config := to("http://127.0.0.1:1")
	config.CORS = cors
	forward := newGateway(t, config)
	for _, method := range []string{http.MethodGet, http.MethodConnect} {
		for origin, want := range map[string]string{page: page, "https://example.net": ""} {
			w := httptest.NewRecorder()
			forward.ServeHTTP(w, newRequest(t, method, "/", "", "Origin", origin))
			if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code < 500 || got != want || w.Header().Get("Vary") != "Origin" {
				t.Errorf("%s from %s: %d, allowed origin %q, must be %q", method, origin, w.Code, got, want)
			}
		}
	}
}

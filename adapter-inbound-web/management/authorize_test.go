package management_test

import (
	"net/http"
	"testing"

	"example.com/weir/adapter-inbound-web/management"
)

// Ensure that the question of proxies has a handler of its own, behind the
// token, and that there is none unless there is one.
func TestHandlerAuthorize(t *testing.T) {
	authorize := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	tests := []struct {
		name      string
		authorize http.Handler
		path      string
		token     string
		status    int
	}{
		{"asked", authorize, "/v1/authorize", "secret", 204},
		{"without token", authorize, "/v1/authorize", "", 401},
		{"another path is the API's", authorize, "/v1/authorize/", "secret", 200},
		{"no handler", nil, "/v1/authorize", "secret", 404},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handler := newHandler(t, management.Config{Token: "secret", Evaluation: api, Authorize: test.authorize})
			if w := serve(handler, http.MethodGet, test.path, test.token); w.Code != test.status {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, test.status)
			}
		})
	}
}

package bootstrap

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// askFromPage asks the public listener on behalf of a client, from a page of origin.
func askFromPage(t *testing.T, app *running, forwarded, origin string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+app.public.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Forwarded", forwarded)
	request.Header.Set("X-Forwarded-For", "192.0.2.1") // the client's invention
	request.Header.Set("Origin", origin)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// Ensure that the configured header, width of IPv6 prefixes and origins reach
// the public listener.
func TestApp_SubjectAndCORS(t *testing.T) {
	const page = "https://example.org"
	app := run(t, localConfig(t,
		"app.web.local-limiter.limit=1",
		"app.web.subject.trusted-proxies=127.0.0.1",
		"app.web.subject.forwarded=forwarded",
		"app.web.subject.ipv6-prefix=56",
		"app.web.cors.allowed-origins="+page,
	))
	for _, step := range []struct {
		name, forwarded string
		status          int
		allowed         string
	}{
		{"a client", `for="[2001:db8:0:1::1]:443"`, http.StatusOK, ""},
		{"its neighbour, in the same /56", `for="[2001:db8:0:ff::1]:443"`, http.StatusTooManyRequests, page},
		{"a client of the next /56", `for="[2001:db8:0:100::1]:443"`, http.StatusOK, ""},
	} {
		response := askFromPage(t, app, step.forwarded, page)
		if response.StatusCode != step.status {
			t.Errorf("%s is answered %d, want %d", step.name, response.StatusCode, step.status)
		}
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != step.allowed {
			t.Errorf("%s: the answer is for %q, want %q", step.name, got, step.allowed)
		}
		if got := response.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, "Retry-After") {
			t.Errorf("%s: exposed are %q", step.name, got)
		}
	}
	app.cancel()
	if err := app.wait(t); err != nil {
		t.Error(err)
	}
}

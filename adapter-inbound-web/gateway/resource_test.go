package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/gateway"
)

const document = `{"service":"weir","message":"no upstream is configured"}`

// Ensure that every method and path gets the same document, and that nothing of
// the request comes back.
func TestResourceIsConstant(t *testing.T) {
	server := httptest.NewServer(gateway.Resource())
	defer server.Close()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, "BREW"} {
		t.Run(method, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/%3Cscript%3E?q=secret", strings.NewReader("secret"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("got %d %q, want 200 and JSON", response.StatusCode, response.Header.Get("Content-Type"))
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if method != http.MethodHead && string(body) != document {
				t.Errorf("got %s, want %s", body, document)
			}
			if response.ContentLength != int64(len(document)) {
				t.Errorf("got a length of %d, want %d", response.ContentLength, len(document))
			}
		})
	}
}

func ExampleResource() {
	w := httptest.NewRecorder()
	gateway.Resource().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/anything", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"service":"weir","message":"no upstream is configured"}
}

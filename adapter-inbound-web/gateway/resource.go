package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Resource answers every request, whatever its method and path, with the same
// small JSON document (200), so that Weir shows what it does before there is
// anything to protect. It repeats nothing of the request.
func Resource() http.Handler {
	body, err := json.Marshal(resource{Service: "weir", Message: "no upstream is configured"})
	if err != nil {
		panic("gateway: the resource cannot be marshalled: " + err.Error())
	}
	length := strconv.Itoa(len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", length)
		// The rate-limit header fields that go with it are one client's.
		header.Set("Cache-Control", "no-store")
		_, _ = w.Write(body) // the client is gone; there is nobody to tell
	})
}

type resource struct {
	Service string `json:"service"`
	Message string `json:"message"`
}

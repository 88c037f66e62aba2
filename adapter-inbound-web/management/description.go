package management

import (
	_ "embed"
	"net/http"
	"strconv"
)

// description is the OpenAPI document of all that the management listener
// serves. It is written by hand, and tests hold live responses against it.
//
//go:embed openapi.yaml
var description string

func describe(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "application/yaml") // RFC 9512
	header.Set("Content-Length", strconv.Itoa(len(description)))
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(description)) // the client is gone; there is nobody to tell
}

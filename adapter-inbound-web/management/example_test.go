package management_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/weir/adapter-inbound-web/management"
)

func Example() {
	handler, err := management.New(management.Config{Checks: []management.Check{{
		Name:  "redis",
		Probe: func(context.Context) error { return errors.New("connection refused") },
	}}})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 {"status":"alive"}
	// 503 {"status":"unready","missing":[{"name":"redis","detail":"connection refused"}]}
}

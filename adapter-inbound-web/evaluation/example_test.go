package evaluation_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

func Example() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            "edge-default",
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
		MaxCost:       10,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		panic(err)
	}
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	handler, err := evaluation.New(evaluation.Config{
		Port:          ratelimittest.AlwaysDenies(policy, 1500*time.Millisecond),
		Catalog:       ratelimit.NewCatalog(snapshot),
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: "edge-default",
	})
	if err != nil {
		panic(err)
	}

	r := httptest.NewRequest(http.MethodPost, "/v1/evaluations", strings.NewReader(`{"subject":"ip:192.0.2.1"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code)
	fmt.Println(w.Body)
	// Output:
	// 200
	// {"outcome":"evaluated","decision":{"allowed":false,"policyId":"edge-default","policyRevision":1,"algorithm":"fixed-window","limit":100,"remaining":0,"retryAfterMillis":1500,"resetAt":"1970-01-01T00:00:01.500Z","source":"MEMORY","certainty":"CERTAIN"}}
}

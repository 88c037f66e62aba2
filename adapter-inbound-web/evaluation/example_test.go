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

// One request is charged at the user and at the tenant, or at neither.
func Example_layers() {
	snapshot, err := ratelimit.NewSnapshot(
		newPolicy("per-user", ratelimit.SlidingLog{Limit: 3, Window: time.Minute}),
		newPolicy("per-tenant", ratelimit.FixedWindow{Limit: 10, Window: time.Minute}),
	)
	if err != nil {
		panic(err)
	}
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	memory := ratelimittest.NewMemory(catalog, func() time.Time { return time.Unix(0, 0) })
	handler, err := evaluation.New(evaluation.Config{
		Port:          memory,
		LayeredPort:   memory,
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: "per-tenant",
	})
	if err != nil {
		panic(err)
	}

	for range 4 {
		r := httptest.NewRequest(http.MethodPost, "/v1/evaluations", strings.NewReader(`{"layers": [
			{"name": "user", "policyId": "per-user", "subject": "alice"},
			{"name": "tenant", "policyId": "per-tenant", "subject": "acme"}
		]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		summary, _, _ := strings.Cut(w.Body.String(), `,"levels"`)
		fmt.Println(summary)
	}
	// Output:
	// {"outcome":"evaluated","decision":{"allowed":true,"remaining":2,"retryAfterMillis":0,"refusedBy":[]
	// {"outcome":"evaluated","decision":{"allowed":true,"remaining":1,"retryAfterMillis":0,"refusedBy":[]
	// {"outcome":"evaluated","decision":{"allowed":true,"remaining":0,"retryAfterMillis":0,"refusedBy":[]
	// {"outcome":"evaluated","decision":{"allowed":false,"remaining":0,"retryAfterMillis":60000,"refusedBy":["user"]
}

func newPolicy(id string, parameters ratelimit.Parameters) ratelimit.Policy {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: id, Revision: 1, Parameters: parameters, MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	return policy
}

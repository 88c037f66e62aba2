package edge_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// A policy of one request per minute, in front of a net/http application.
func Example() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            "edge-default",
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: 1, Window: time.Minute},
		MaxCost:       1,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		panic(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)

	limit, err := edge.New(edge.Config{
		Port:          ratelimittest.NewMemory(catalog, func() time.Time { return noon }),
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: "edge-default",
		Routes:        []edge.Route{{Pattern: "GET /health", Exempt: true}},
	})
	if err != nil {
		panic(err)
	}
	application := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))

	for _, path := range []string{"/", "/", "/health"} {
		w := httptest.NewRecorder()
		application.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// / 204 "edge-default";r=0;t=60
	// / 429 "edge-default";r=0;t=60
	// /health 204
}

// Without a store, each process limits by itself.
func ExampleNew_local() {
	local, err := locallimit.New(locallimit.Config{Limit: 60, Window: time.Minute, MaxSubjects: 1000})
	if err != nil {
		panic(err)
	}
	limit, err := edge.New(edge.Config{Local: local})
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	limit(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	// Output: "local";q=60;w=60
}

func ExampleDecisionFrom() {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if decision, ok := edge.DecisionFrom(r.Context()); ok {
			fmt.Println(decision.Remaining, "of", decision.Limit, "left, says", decision.Source)
		}
	})
	local, err := locallimit.New(locallimit.Config{Limit: 60, Window: time.Minute, MaxSubjects: 1000})
	if err != nil {
		panic(err)
	}
	limit, err := edge.New(edge.Config{Local: local})
	if err != nil {
		panic(err)
	}
	limit(handler).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	// Output: 59 of 60 left, says LOCAL_PROCESS
}

// A user may ask three times in a minute, and all users of a tenant ten times.
func ExampleLayers() {
	policy := func(id string, limit int64) ratelimit.Policy {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID:            id,
			Revision:      1,
			Parameters:    ratelimit.FixedWindow{Limit: limit, Window: time.Minute},
			MaxCost:       1,
			FailurePolicy: ratelimit.FailClosed,
		})
		if err != nil {
			panic(err)
		}
		return policy
	}
	header := func(name string) *subject.Extractor {
		extractor, err := subject.New(subject.Config{Source: "header:" + name})
		if err != nil {
			panic(err)
		}
		return extractor
	}
	snapshot, err := ratelimit.NewSnapshot(policy("anonymous", 1), policy("per-user", 3), policy("per-tenant", 10))
	if err != nil {
		panic(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	store := ratelimittest.NewMemory(catalog, func() time.Time { return noon })

	limit, err := edge.New(edge.Config{
		Port:          store,
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: "anonymous",
		Layers: &edge.Layers{
			Port: store,
			Levels: []edge.Level{
				{Name: "user", Policy: "per-user", Subject: header("X-User")},
				{Name: "tenant", Policy: "per-tenant", Subject: header("X-Tenant")},
			},
			FailureMode: edge.FailClosed,
		},
	})
	if err != nil {
		panic(err)
	}
	application := limit(http.NotFoundHandler())

	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-User", "alice")
	r.Header.Set("X-Tenant", "acme")
	for range 4 {
		w := httptest.NewRecorder()
		application.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// 404 "per-user";r=2;t=60, "per-tenant";r=9;t=60
	// 404 "per-user";r=1;t=60, "per-tenant";r=8;t=60
	// 404 "per-user";r=0;t=60, "per-tenant";r=7;t=60
	// 429 "per-user";r=0;t=60, "per-tenant";r=7;t=60
}

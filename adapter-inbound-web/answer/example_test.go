package answer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

func ExampleGate() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            "edge-default",
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
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
	gate, err := answer.NewGate(answer.GateConfig{Catalog: ratelimit.NewCatalog(snapshot)})
	if err != nil {
		panic(err)
	}

	denial := ratelimittest.AlwaysDenies(policy, 1400*time.Millisecond)(ratelimit.Request{})
	w := httptest.NewRecorder()
	_, passes := gate.Admit(w, httptest.NewRequest(http.MethodGet, "/", nil), denial)

	fmt.Println(passes, w.Code)
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	fmt.Println(w.Header().Get("RateLimit"))
	fmt.Println(w.Header().Get("Retry-After"))
	// Output:
	// false 429
	// "edge-default";q=100;w=60
	// "edge-default";r=0;t=2
	// 2
}

func ExampleProblem() {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Request-Id", "42")
	w := httptest.NewRecorder()
	answer.NotFound("There is no such policy.").Write(w, r)
	fmt.Println(w.Body)
	// Output: {"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such policy.","correlationId":"42"}
}

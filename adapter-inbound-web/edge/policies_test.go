package edge_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// unhurried is a deadline where none is tested: a busy machine may stall for longer
// than the default.
const unhurried = time.Minute

func newPolicy(t testing.TB, id string, limit, maxCost int64) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: limit, Window: time.Minute},
		MaxCost:       maxCost,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// newCatalog has the policies "standard" (100, at most 10 at once), "heavy"
// (1000, at most 100 at once) and "tight" (5), each per minute.
func newCatalog(t testing.TB) *ratelimit.Catalog {
	t.Helper()
	snapshot, err := ratelimit.NewSnapshot(newPolicy(t, "standard", 100, 10), newPolicy(t, "heavy", 1000, 100), newPolicy(t, "tight", 5, 5))
	if err != nil {
		t.Fatal(err)
	}
	return ratelimit.NewCatalog(snapshot)
}

func newKey(t testing.TB) *pseudonym.Key {
	t.Helper()
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte{1}, pseudonym.MinSecretBytes))
	if err != nil {
		t.Fatal(err)
	}
	return secret.SubjectKey()
}

// newConfig is complete: it decides by a model whose clock stands still, and
// remembers what the model was asked.
func newConfig(t testing.TB, routes ...edge.Route) (edge.Config, *ratelimittest.Recorder) {
	t.Helper()
	catalog := newCatalog(t)
	start := time.Unix(1_800_000_000, 0)
	port := &ratelimittest.Recorder{Next: ratelimittest.NewMemory(catalog, func() time.Time { return start })}
	return edge.Config{
		Port:          port,
		Catalog:       catalog,
		Pseudonym:     newKey(t),
		DefaultPolicy: "standard",
		Routes:        routes,
		Deadline:      unhurried,
	}, port
}

func newEdge(t testing.TB, config edge.Config) func(http.Handler) http.Handler {
	t.Helper()
	limit, err := edge.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// charges are "policy cost" for each request that port was asked to decide.
func charges(port *ratelimittest.Recorder) []string {
	texts := []string{}
	for _, request := range port.Requests() {
		texts = append(texts, fmt.Sprintf("%s %d", request.PolicyID(), request.Cost()))
	}
	return texts
}

func serve(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func get(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

var done = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })

package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that the gate stays shut as long as the store decides for anybody, however
// many requests get no decision: a flood is no outage. It opens a second after the
// last decision, and shuts with the next one.
func TestFailOpenWaitsForAnOutage(t *testing.T) {
	for name, undecided := range map[string]ratelimittest.LayeredAnswers{
		"no reply":      ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0),
		"no connection": ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0),
		"unready":       ratelimittest.LayeredAlwaysUnavailable(failure.StoreUnready, 0),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, store, _ := newLayersConfig(t)
				away := false
				config.Layers.Port = layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					if away {
						return undecided(request)
					}
					return store.EvaluateLayers(ctx, request)
				})
				limited := newEdge(t, config)(done)
				ask := func() *httptest.ResponseRecorder { return serve(limited, by("a", "o", "/")) }
				decide := func() {
					t.Helper()
					away = false
					if w := ask(); w.Code == http.StatusServiceUnavailable || w.Header().Get("Weir-Degraded") != "" {
						t.Fatalf("the store decided, the answer is %d %v", w.Code, w.Header())
					}
					away = true
				}
				decide()
				for range 20 {
					checkTreatment(t, ask(), refused)
					time.Sleep(40 * time.Millisecond)
				}
				decide()
				time.Sleep(999 * time.Millisecond)
				checkTreatment(t, ask(), refused)
				time.Sleep(time.Millisecond)
				checkTreatment(t, ask(), opens)
				decide()
				checkTreatment(t, ask(), refused)
			})
		})
	}
}

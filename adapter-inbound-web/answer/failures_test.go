package answer_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func saturated() ratelimit.Outcome {
	return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Saturated}, PolicyID: "edge-default"}
}

// Ensure that a storm of failures leaves one line per second for each kind, and
// that each line says how many it stands for.
func TestFailuresDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		failures := answer.NewFailures(slog.New(slog.NewJSONHandler(&log, nil)))
		fail := func(outcome ratelimit.Outcome, times int) {
			for range times {
				failures.Decided(httptest.NewRecorder(), newRequest(), outcome)
			}
		}
		fail(saturated(), 1000)
		fail(ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Connection}}, 1)
		fail(ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.State}}, 2)
		time.Sleep(time.Second - 1)
		fail(saturated(), 1)
		time.Sleep(1)
		fail(saturated(), 2)

		type line struct {
			Level, Outcome, Category, PolicyID, CorrelationID string
			Suppressed                                        int
		}
		want := []line{
			{"WARN", "unavailable", "saturated", "edge-default", "golden", 0},
			{"WARN", "unavailable", "connection", "", "golden", 0},
			{"ERROR", "incompatible", "state", "", "golden", 0},
			{"WARN", "unavailable", "saturated", "edge-default", "golden", 1000},
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), log.String())
		}
		for i, text := range lines {
			var got line
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got != want[i] {
				t.Errorf("line %d is %+v, want %+v", i, got, want[i])
			}
		}
	})
}

// Ensure that a denial is a decision and not a failure.
func TestFailuresLetDecisionsPass(t *testing.T) {
	policy := perMinute(t)
	w := httptest.NewRecorder()
	decision, ok := answer.NewFailures(nil).Decided(w, newRequest(), ratelimit.Evaluated{Decision: denied(policy, time.Second)})
	if !ok || decision.Policy != policy || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("got %v %t, header %v, body %s", decision, ok, w.Header(), w.Body)
	}
}

package answer_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// failureOutcomes are the outcomes without a decision, each with every category
// that it can have, by the name of its file in testdata/failures. "disabled" is
// the category of a decision API without a port.
func failureOutcomes() map[string]ratelimit.Outcome {
	const policyID = "edge-default"
	outcomes := make(map[string]ratelimit.Outcome)
	for _, category := range []failure.Category{
		failure.Saturated, failure.DeadlineTooShort, failure.Cancelled, failure.InvalidRequest, failure.Connection,
		failure.StoreUnready, failure.StoreFull, failure.ClockUnsafe, failure.Unsupported, failure.ShuttingDown,
		failure.AccessDenied, "disabled",
	} {
		outcomes["unavailable-"+string(category)] = ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: category, RetryAfter: 1500 * time.Millisecond}, PolicyID: policyID,
		}
	}
	for _, category := range []failure.Category{failure.NoReply, failure.ScriptError, failure.AccessDenied} {
		outcomes["indeterminate-"+string(category)] = ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: category, RetryAfter: 1500 * time.Millisecond}, PolicyID: policyID,
		}
	}
	for _, category := range []failure.Category{failure.UnknownPolicy, failure.State, failure.Protocol} {
		outcomes["incompatible-"+string(category)] = ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: category}, PolicyID: policyID,
		}
	}
	return outcomes
}

// Ensure that each failure has the status, the header fields and the document
// that testdata shows, the same at the edge and at the decision API, and that
// testdata shows no others.
func TestFailureDocuments(t *testing.T) {
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, perMinute(t))})
	api := answer.NewFailures(nil)
	var want []string
	for name, outcome := range failureOutcomes() {
		want = append(want, name+".txt")
		t.Run(name, func(t *testing.T) {
			edge, decision := httptest.NewRecorder(), httptest.NewRecorder()
			if _, passes := gate.Admit(edge, newRequest(), outcome); passes {
				t.Error("it passes the edge")
			}
			if _, decided := api.Decided(decision, newRequest(), outcome); decided {
				t.Error("it is a decision")
			}
			text := dump(t, edge)
			compareGolden(t, filepath.Join("failures", name), text)
			if got := dump(t, decision); !bytes.Equal(got, text) {
				t.Errorf("the decision API answers\n%s\nand the edge\n%s", got, text)
			}
		})
	}
	slices.Sort(want)
	entries, err := os.ReadDir(filepath.Join("testdata", "failures"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("testdata holds %q, want %q", got, want)
	}
}

// Ensure that each denial has the header fields and the document that testdata
// shows, for each family of fields and for proxies that ask.
func TestDenialDocuments(t *testing.T) {
	policy := perMinute(t)
	tests := map[string]answer.GateConfig{
		"ietf":         {Headers: answer.IETFHeaders},
		"legacy":       {Headers: answer.LegacyHeaders},
		"legacy-epoch": {Headers: answer.LegacyHeaders, LegacyReset: answer.EpochReset},
		"forbidden":    {DeniedStatus: answer.DeniedForbidden},
		"cors":         {CORS: newCORS(t, "https://example.org")},
	}
	for name, config := range tests {
		t.Run(name, func(t *testing.T) {
			config.Catalog = newCatalog(t, policy)
			r := newRequest()
			r.Header.Set("Origin", "https://example.org")
			w := httptest.NewRecorder()
			newGate(t, config).Admit(w, r, ratelimit.Evaluated{Decision: denied(policy, 1400*time.Millisecond)})
			compareGolden(t, filepath.Join("denials", name), dump(t, w))
		})
	}
}

package answer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that only a denial has the status that was asked for, in the status
// line and in the document, and that the rest of it stays the same.
func TestGateDeniesWithAnotherStatus(t *testing.T) {
	policy := perMinute(t)
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), DeniedStatus: answer.DeniedForbidden})
	w := httptest.NewRecorder()
	gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: denied(policy, 1400*time.Millisecond)})
	compareGolden(t, "denied-forbidden", dump(t, w))

	w = httptest.NewRecorder()
	gate.Admit(w, newRequest(), ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Connection}})
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a failure is answered %d", w.Code)
	}
}

// Ensure that a status which says something else than a denial is a fault.
func TestDeniedStatusCheck(t *testing.T) {
	for status, want := range map[answer.DeniedStatus]string{
		"":                           "",
		answer.DeniedTooManyRequests: "",
		answer.DeniedForbidden:       "",
		"200":                        `denied-status: is "200", must be 429 or 403`,
		"0403":                       `denied-status: is "0403", must be 429 or 403`,
	} {
		_, err := answer.NewGate(answer.GateConfig{Catalog: newCatalog(t, perMinute(t)), DeniedStatus: status})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", status, got, want)
		}
	}
}

// Ensure that an admission that is only told about has no content and is not
// cached.
func TestPasses(t *testing.T) {
	w := httptest.NewRecorder()
	answer.Passes(w)
	compareGolden(t, "passes", dump(t, w))
}

// Ensure that a refusal of the peer has the document that testdata shows.
func TestForbidden(t *testing.T) {
	w := httptest.NewRecorder()
	answer.Forbidden("Only trusted proxies are answered here.").Write(w, newRequest())
	compareGolden(t, "forbidden", dump(t, w))
}

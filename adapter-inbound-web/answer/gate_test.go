package answer_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

var update = flag.Bool("update", false, "rewrite testdata with what the tests get")

// foreign has the method that seals Outcome, by embedding one.
type foreign struct{ ratelimit.Evaluated }

func newGate(t testing.TB, config answer.GateConfig) *answer.Gate {
	t.Helper()
	gate, err := answer.NewGate(config)
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

func newRequest() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Request-Id", "golden")
	return r
}

// resetAt is the end of a window by the store's clock.
var resetAt = time.Date(2026, 5, 23, 12, 1, 0, 0, time.UTC)

func allowed(policy ratelimit.Policy) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:    true,
		Limit:      policy.Quota(),
		Remaining:  policy.Quota() - 1,
		ResetAfter: 59_001 * time.Millisecond,
		ResetAt:    resetAt,
		Policy:     policy,
		Source:     ratelimit.GlobalRedis,
		Certainty:  ratelimit.Certain,
	}
}

func denied(policy ratelimit.Policy, retryAfter time.Duration) ratelimit.Decision {
	decision := allowed(policy)
	decision.Allowed, decision.Remaining, decision.RetryAfter = false, 0, retryAfter
	return decision
}

// Ensure that each outcome has the status, the header fields and the document
// that testdata shows, and that only an admission passes.
func TestGateAnswersOutcomes(t *testing.T) {
	policy := perMinute(t)
	retry := 1400 * time.Millisecond
	tests := []struct {
		name    string
		outcome ratelimit.Outcome
		passes  bool
	}{
		{name: "allowed", outcome: ratelimit.Evaluated{Decision: allowed(policy)}, passes: true},
		{name: "denied", outcome: ratelimit.Evaluated{Decision: denied(policy, retry)}},
		{name: "unavailable", outcome: ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.Saturated, RetryAfter: retry}, PolicyID: policy.ID(),
		}},
		{name: "unavailable-without-hint", outcome: ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.StoreFull}, PolicyID: policy.ID(),
		}},
		{name: "indeterminate", outcome: ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: failure.NoReply, RetryAfter: retry}, PolicyID: policy.ID(),
		}},
		{name: "incompatible", outcome: ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.State}, PolicyID: policy.ID(),
		}},
		{name: "nil", outcome: nil},
		{name: "pointer", outcome: &ratelimit.Evaluated{Decision: allowed(policy)}},
		{name: "foreign", outcome: foreign{ratelimit.Evaluated{Decision: allowed(policy)}}},
		{name: "without-policy", outcome: ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy)})
			w := httptest.NewRecorder()
			_, passes := gate.Admit(w, newRequest(), test.outcome)
			if passes != test.passes {
				t.Fatalf("passes: %t, want %t", passes, test.passes)
			}
			compareGolden(t, test.name, dump(t, w))
		})
	}
}

// dump is a response as text: status, sorted header fields, indented document.
func dump(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var text bytes.Buffer
	fmt.Fprintln(&text, w.Code)
	for _, name := range slices.Sorted(maps.Keys(w.Header())) {
		if name == "Content-Length" {
			continue
		}
		for _, value := range w.Header()[name] {
			fmt.Fprintf(&text, "%s: %s\n", name, value)
		}
	}
	if w.Body.Len() > 0 {
		if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("Content-Length is %s, want %d", got, w.Body.Len())
		}
		text.WriteByte('\n')
		if err := json.Indent(&text, w.Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
	}
	return text.Bytes()
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant, from %s,\n%s", got, file, want)
	}
}

// Ensure that the structured fields parse, and say what the policy and the
// decision say, for every algorithm.
func TestGateWritesStructuredFields(t *testing.T) {
	type numbers map[string]any
	tests := []struct {
		name       string
		parameters ratelimit.Parameters
		denied     bool
		policy     numbers
		limit      numbers
	}{
		{
			name:       "fixed window",
			parameters: ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
			policy:     numbers{"q": int64(100), "w": int64(60)},
			limit:      numbers{"r": int64(99), "t": int64(60)},
		},
		{
			name:       "sliding counter, denied",
			parameters: ratelimit.SlidingCounter{Limit: 5, Window: time.Hour},
			denied:     true,
			policy:     numbers{"q": int64(5), "w": int64(3600)},
			limit:      numbers{"r": int64(0), "t": int64(2)},
		},
		{
			name:       "token bucket",
			parameters: ratelimit.TokenBucket{Capacity: 100, RefillTokens: 10, RefillInterval: time.Second},
			policy:     numbers{"q": int64(100), "w": int64(10)},
			limit:      numbers{"r": int64(99), "t": int64(60)},
		},
		{
			name:       "window of no whole seconds",
			parameters: ratelimit.FixedWindow{Limit: 1, Window: 1500 * time.Millisecond},
			policy:     numbers{"q": int64(1)},
			limit:      numbers{"r": int64(0), "t": int64(60)},
		},
		{
			name:       "bucket that fills in no whole seconds",
			parameters: ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillInterval: time.Second},
			policy:     numbers{"q": int64(10)},
			limit:      numbers{"r": int64(9), "t": int64(60)},
		},
		{
			name:       "largest quota",
			parameters: ratelimit.FixedWindow{Limit: ratelimit.MaxQuota, Window: ratelimit.MaxWindow},
			policy:     numbers{"q": ratelimit.MaxQuota, "w": int64(316_224_000)},
			limit:      numbers{"r": ratelimit.MaxQuota - 1, "t": int64(60)},
		},
	}
	// The longest ID, so that no buffer is too small for it.
	id := "a" + strings.Repeat("b", 62)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy := newPolicy(t, id, test.parameters)
			decision := allowed(policy)
			decision.ResetAfter = 59_001 * time.Millisecond
			if test.denied {
				decision = denied(policy, 1400*time.Millisecond)
			}
			w := httptest.NewRecorder()
			newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy)}).Admit(w, newRequest(), ratelimit.Evaluated{Decision: decision})
			for field, want := range map[string]numbers{"RateLimit-Policy": test.policy, "RateLimit": test.limit} {
				list, err := httpsfv.UnmarshalList(w.Header().Values(field))
				if err != nil || len(list) != 1 {
					t.Fatalf("%s %q: %d items, %v", field, w.Header().Values(field), len(list), err)
				}
				item := list[0].(httpsfv.Item)
				got := numbers{}
				for _, name := range item.Params.Names() {
					got[name], _ = item.Params.Get(name)
				}
				if item.Value != id || !maps.Equal(got, want) {
					t.Errorf("%s is %v %v, want %v %v", field, item.Value, got, id, want)
				}
			}
		})
	}
}

// Ensure that an admission and a denial carry the same rate-limit header fields,
// and Retry-After only the latter, for each family of fields.
func TestGateWritesTheSameFieldsOnAdmissionAndDenial(t *testing.T) {
	ietf := []string{"Ratelimit", "Ratelimit-Policy"}
	legacy := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	tests := map[answer.Headers][]string{
		"":                   slices.Concat(ietf, legacy),
		answer.BothHeaders:   slices.Concat(ietf, legacy),
		answer.IETFHeaders:   ietf,
		answer.LegacyHeaders: legacy,
	}
	policy := perMinute(t)
	for headers, want := range tests {
		t.Run(string(headers), func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), Headers: headers})
			for _, decision := range []ratelimit.Decision{allowed(policy), denied(policy, time.Second)} {
				w := httptest.NewRecorder()
				gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: decision})
				var got []string
				for name := range w.Header() {
					if strings.Contains(name, "Ratelimit") {
						got = append(got, name)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("allowed %t has %v, want %v", decision.Allowed, got, want)
				}
				if has := w.Header().Get("Retry-After") != ""; has == decision.Allowed {
					t.Errorf("allowed %t: Retry-After is there: %t", decision.Allowed, has)
				}
			}
		})
	}
}

// Ensure that Retry-After is a positive whole number that is never too short,
// and that the document says the same.
func TestGateRoundsRetryAfterUp(t *testing.T) {
	policy := perMinute(t)
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy)})
	digits := regexp.MustCompile(`^[1-9][0-9]*$`)
	tests := map[time.Duration]string{
		-time.Second:            "1",
		0:                       "1",
		time.Nanosecond:         "1",
		150 * time.Millisecond:  "1",
		time.Second:             "1",
		1001 * time.Millisecond: "2",
		1400 * time.Millisecond: "2",
		9473 * time.Millisecond: "10",
		1<<63 - 1:               "9223372037",
	}
	for wait, want := range tests {
		t.Run(wait.String(), func(t *testing.T) {
			w := httptest.NewRecorder()
			gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: denied(policy, wait)})
			var document struct{ RetryAfterSeconds json.Number }
			if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			got := w.Header().Get("Retry-After")
			if got != want || !digits.MatchString(got) || document.RetryAfterSeconds.String() != want {
				t.Errorf("header %s, document %s, want %s", got, document.RetryAfterSeconds, want)
			}
		})
	}
}

// Ensure that X-RateLimit-Reset names the moment that RateLimit names, as a
// delta and as seconds since the epoch.
func TestGateWritesLegacyReset(t *testing.T) {
	policy := perMinute(t)
	tests := []struct {
		name     string
		form     answer.LegacyReset
		decision ratelimit.Decision
		want     string
	}{
		{"no form", "", allowed(policy), "60"},
		{"delta, allowed", answer.DeltaReset, allowed(policy), "60"},
		{"delta, denied", answer.DeltaReset, denied(policy, 1400*time.Millisecond), "2"},
		{"epoch, allowed", answer.EpochReset, allowed(policy), strconv.FormatInt(resetAt.Unix(), 10)},
		// The store's clock is 12:00:00.999; 1.4 s later is 12:00:02.399.
		{"epoch, denied", answer.EpochReset, denied(policy, 1400*time.Millisecond), strconv.FormatInt(resetAt.Unix()-57, 10)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy), LegacyReset: test.form})
			w := httptest.NewRecorder()
			gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: test.decision})
			if got := w.Header().Get("X-RateLimit-Reset"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Ensure that fields follow the policy of the decision, whether the catalog has
// just got it, has lost it, or has another of that name.
func TestGateFollowsTheCatalog(t *testing.T) {
	old, raised := perMinute(t), newPolicy(t, "edge-default", ratelimit.FixedWindow{Limit: 200, Window: time.Minute})
	catalog := newCatalog(t, old)
	gate := newGate(t, answer.GateConfig{Catalog: catalog})
	check := func(policy ratelimit.Policy, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: allowed(policy)})
		if got := w.Header().Get("RateLimit-Policy"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(old, `"edge-default";q=100;w=60`)
	check(raised, `"edge-default";q=200;w=60`)
	snapshot, err := ratelimit.NewSnapshot(raised)
	if err != nil {
		t.Fatal(err)
	}
	catalog.Replace(snapshot)
	check(raised, `"edge-default";q=200;w=60`)
	check(old, `"edge-default";q=100;w=60`)
	catalog.Replace(nil)
	check(old, `"edge-default";q=100;w=60`)
}

// Ensure that responses share no memory: what one handler does to its header
// fields does not show in the next response.
func TestGateHeadersAreNotShared(t *testing.T) {
	policy := perMinute(t)
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, policy)})
	first, second := httptest.NewRecorder(), httptest.NewRecorder()
	gate.Admit(first, newRequest(), ratelimit.Evaluated{Decision: allowed(policy)})
	for name := range first.Header() {
		first.Header()[name][0] = "changed"
		first.Header().Add(name, "added")
	}
	gate.Admit(second, newRequest(), ratelimit.Evaluated{Decision: allowed(policy)})
	for name, values := range second.Header() {
		if len(values) != 1 || values[0] == "changed" {
			t.Errorf("%s is %q", name, values)
		}
	}
	for name, values := range first.Header() {
		if !slices.Equal(values, []string{"changed", "added"}) {
			t.Errorf("%s is %q", name, values)
		}
	}
}

// Ensure that all faults come at once and name their fields.
func TestNewGateFaults(t *testing.T) {
	_, err := answer.NewGate(answer.GateConfig{Headers: "rfc", LegacyReset: "date"})
	want := `catalog: must be given; headers: is "rfc", must be ietf, legacy or both; legacy-reset: is "date", must be delta or epoch`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func BenchmarkGateAdmits(b *testing.B) {
	policy := perMinute(b)
	gate := newGate(b, answer.GateConfig{Catalog: newCatalog(b, policy)})
	outcome := ratelimit.Evaluated{Decision: allowed(policy)}
	w, r := httptest.NewRecorder(), newRequest()
	b.ReportAllocs()
	for b.Loop() {
		gate.Admit(w, r, outcome)
	}
}

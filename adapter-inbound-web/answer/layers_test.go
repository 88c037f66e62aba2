package answer_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// levelPolicies are the policies "user" (3 per minute), "tenant" (10 per minute)
// and "global" (a bucket of 1000 that fills in 100 seconds).
func levelPolicies(t testing.TB) (user, tenant, global ratelimit.Policy) {
	return newPolicy(t, "user", ratelimit.SlidingLog{Limit: 3, Window: time.Minute}),
		newPolicy(t, "tenant", ratelimit.FixedWindow{Limit: 10, Window: time.Minute}),
		newPolicy(t, "global", ratelimit.TokenBucket{Capacity: 1000, RefillTokens: 10, RefillInterval: time.Second})
}

// level is a level of the name "the-" and the policy's ID, with remaining units
// and a reset after as many seconds as the policy's quota.
func level(decision ratelimit.Decision, remaining int64) ratelimit.LevelDecision {
	decision.Remaining = remaining
	decision.ResetAfter = time.Duration(decision.Policy.Quota()) * time.Second
	decision.ResetAt = resetAt
	return ratelimit.LevelDecision{Level: "the-" + decision.Policy.ID(), Decision: decision}
}

func layers(levels ...ratelimit.LevelDecision) ratelimit.LayeredEvaluated {
	return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: levels}}
}

// foreignLayers has the method that seals LayeredOutcome, by embedding one.
type foreignLayers struct{ ratelimit.LayeredEvaluated }

// Ensure that each outcome of several levels has the status, the header fields and
// the document that testdata shows, and that only an admission passes.
func TestGateAnswersLayeredOutcomes(t *testing.T) {
	user, tenant, global := levelPolicies(t)
	tests := []struct {
		name    string
		config  answer.GateConfig
		outcome ratelimit.LayeredOutcome
		passes  bool
	}{
		{name: "allowed", passes: true, outcome: layers(level(allowed(user), 2), level(allowed(tenant), 9), level(allowed(global), 999))},
		{name: "one-level", passes: true, outcome: layers(level(allowed(user), 2))},
		{name: "outer-level-is-tightest", passes: true, outcome: layers(level(allowed(user), 2), level(allowed(tenant), 1))},
		{name: "denied-by-the-first", outcome: layers(level(denied(user, 1400*time.Millisecond), 0), level(allowed(tenant), 7))},
		{name: "denied-by-the-last", outcome: layers(level(allowed(user), 0), level(denied(tenant, 20*time.Second), 2))},
		{name: "denied-by-two", outcome: layers(
			level(denied(user, 2*time.Second), 0), level(allowed(tenant), 0), level(denied(global, 4*time.Second), 1),
		)},
		{name: "denied-forbidden", config: answer.GateConfig{DeniedStatus: answer.DeniedForbidden},
			outcome: layers(level(denied(user, time.Second), 0), level(allowed(tenant), 7))},
		{name: "denied-ietf", config: answer.GateConfig{Headers: answer.IETFHeaders},
			outcome: layers(level(denied(user, time.Second), 0), level(allowed(tenant), 7))},
		{name: "denied-legacy-epoch", config: answer.GateConfig{Headers: answer.LegacyHeaders, LegacyReset: answer.EpochReset},
			outcome: layers(level(denied(user, time.Second), 0), level(allowed(tenant), 7))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.config.Catalog = newCatalog(t, user, tenant, global)
			w := httptest.NewRecorder()
			decision, passes := newGate(t, test.config).AdmitLayers(w, newRequest(), test.outcome)
			if passes != test.passes || decision.Allowed() != test.passes {
				t.Fatalf("passes: %t, %+v, want %t", passes, decision, test.passes)
			}
			compareGolden(t, filepath.Join("layers", test.name), dump(t, w))
		})
	}
}

// Ensure that a failure of several levels is answered as that of one, and that what
// no adapter may answer is a failure.
func TestGateAnswersLayeredFailures(t *testing.T) {
	user, tenant, _ := levelPolicies(t)
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, user, tenant)})
	tests := map[string]struct {
		layered ratelimit.LayeredOutcome
		single  ratelimit.Outcome
	}{
		"nil":                    {nil, nil},
		"a pointer":              {&ratelimit.LayeredEvaluated{Decision: layers(level(allowed(user), 1)).Decision}, nil},
		"a pointer to a failure": {&ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Connection}}, nil},
		"foreign":                {foreignLayers{layers(level(allowed(user), 1))}, nil},
		"no levels":              {layers(), nil},
		"a level without policy": {layers(level(allowed(user), 1), ratelimit.LevelDecision{Level: "tenant", Decision: ratelimit.Decision{Allowed: true}}), nil},
	}
	for name, outcome := range failureOutcomes() {
		tests[name] = struct {
			layered ratelimit.LayeredOutcome
			single  ratelimit.Outcome
		}{outcome.(ratelimit.LayeredOutcome), outcome}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, want := httptest.NewRecorder(), httptest.NewRecorder()
			if _, passes := gate.AdmitLayers(got, newRequest(), test.layered); passes {
				t.Error("it passes")
			}
			gate.Admit(want, newRequest(), test.single)
			if got, want := string(dump(t, got)), string(dump(t, want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Ensure that a decision of other levels than those that were asked for is taken
// for a broken adapter's.
func TestOnlyIfAnswering(t *testing.T) {
	user, tenant, _ := levelPolicies(t)
	subject := pseudonym.Digest{1}
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: subject, Levels: []ratelimit.Level{
		{Name: "the-user", PolicyID: "user", Subject: subject, Cost: 1},
		{Name: "the-tenant", PolicyID: "tenant", Subject: subject, Cost: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	one, other := level(allowed(user), 1), level(allowed(tenant), 1)
	for name, test := range map[string]struct {
		outcome ratelimit.LayeredOutcome
		is      bool
	}{
		"both":          {layers(one, other), true},
		"a failure":     {ratelimit.Unavailable{}, true},
		"one left out":  {layers(one), false},
		"none":          {layers(), false},
		"one too many":  {layers(one, other, other), false},
		"another order": {layers(other, one), false},
	} {
		if got := answer.OnlyIfAnswering(request, test.outcome); (got != nil) != test.is {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Ensure that the structured fields are one line each, parse as lists, and say of
// every level in its order what its policy and its decision say.
func TestGateListsLevels(t *testing.T) {
	user, tenant, global := levelPolicies(t)
	long := newPolicy(t, "a"+strings.Repeat("b", 62), ratelimit.FixedWindow{Limit: ratelimit.MaxQuota, Window: ratelimit.MaxWindow})
	tests := map[string]struct {
		outcome ratelimit.LayeredEvaluated
		policy  []string
		limit   []string
	}{
		"admission": {
			layers(level(allowed(user), 2), level(allowed(tenant), 9), level(allowed(global), 999)),
			[]string{"user q=3 w=60", "tenant q=10 w=60", "global q=1000 w=100"},
			[]string{"user r=2 t=3", "tenant r=9 t=10", "global r=999 t=1000"},
		},
		"denial by one": {
			layers(level(allowed(user), 2), level(denied(tenant, 20*time.Second), 0)),
			[]string{"user q=3 w=60", "tenant q=10 w=60"},
			[]string{"user r=2 t=3", "tenant r=0 t=20"},
		},
		"eight long ones": {
			layers(slices.Repeat([]ratelimit.LevelDecision{level(allowed(long), ratelimit.MaxQuota)}, 8)...),
			slices.Repeat([]string{long.ID() + " q=999999999999999 w=316224000"}, 8),
			slices.Repeat([]string{long.ID() + " r=999999999999999 t=9223372037"}, 8),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range test.outcome.Decision.Levels {
				if level := &test.outcome.Decision.Levels[i]; level.Policy == long {
					level.ResetAfter = 1<<63 - 1
				}
			}
			w := httptest.NewRecorder()
			newGate(t, answer.GateConfig{Catalog: newCatalog(t, user, tenant, global)}).AdmitLayers(w, newRequest(), test.outcome)
			for field, want := range map[string][]string{"RateLimit-Policy": test.policy, "RateLimit": test.limit} {
				if lines := w.Header().Values(field); len(lines) != 1 {
					t.Fatalf("%s has %d lines", field, len(lines))
				}
				if got := members(t, w.Header().Get(field)); !slices.Equal(got, want) {
					t.Errorf("%s is %q, want %q", field, got, want)
				}
			}
		})
	}
}

// members are the members of a structured field, each with its parameters.
func members(t *testing.T, field string) []string {
	t.Helper()
	list, err := httpsfv.UnmarshalList([]string{field})
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	var texts []string
	for _, member := range list {
		item := member.(httpsfv.Item)
		text := item.Value.(string)
		for _, name := range item.Params.Names() {
			value, _ := item.Params.Get(name)
			text += fmt.Sprintf(" %s=%d", name, value)
		}
		texts = append(texts, text)
	}
	return texts
}

// Ensure that an admission and a denial of several levels carry the same rate-limit
// header fields, for each family of fields.
func TestGateWritesTheSameFieldsForLevels(t *testing.T) {
	user, tenant, _ := levelPolicies(t)
	for _, headers := range []answer.Headers{answer.BothHeaders, answer.IETFHeaders, answer.LegacyHeaders} {
		t.Run(string(headers), func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, user, tenant), Headers: headers})
			single, admission, denial := httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()
			gate.Admit(single, newRequest(), ratelimit.Evaluated{Decision: allowed(user)})
			gate.AdmitLayers(admission, newRequest(), layers(level(allowed(user), 2), level(allowed(tenant), 9)))
			gate.AdmitLayers(denial, newRequest(), layers(level(denied(user, time.Second), 0), level(allowed(tenant), 9)))
			want := rateLimitFields(single)
			for _, w := range []*httptest.ResponseRecorder{admission, denial} {
				if got := rateLimitFields(w); len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%d has %v, want %v", w.Code, got, want)
				}
			}
		})
	}
}

// rateLimitFields are the names of the rate-limit header fields of w.
func rateLimitFields(w *httptest.ResponseRecorder) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.Header())) {
		if strings.Contains(name, "Ratelimit") {
			names = append(names, name)
		}
	}
	return names
}

// Ensure that the level which stands for all is the one of which the least is left,
// and of a denial the refusing one with the longest wait.
func TestTightest(t *testing.T) {
	user, tenant, global := levelPolicies(t)
	tests := []struct {
		name   string
		levels []ratelimit.LevelDecision
		want   string
	}{
		{"one", []ratelimit.LevelDecision{level(allowed(user), 3)}, "the-user"},
		{"the first has least", []ratelimit.LevelDecision{level(allowed(user), 1), level(allowed(tenant), 2)}, "the-user"},
		{"the last has least, though not of its quota", []ratelimit.LevelDecision{level(allowed(user), 3), level(allowed(tenant), 2)}, "the-tenant"},
		{"equals", []ratelimit.LevelDecision{level(allowed(user), 2), level(allowed(tenant), 2)}, "the-user"},
		{"a refusal with more left than an admission", []ratelimit.LevelDecision{level(allowed(user), 0), level(denied(tenant, 1), 4)}, "the-tenant"},
		{"an admission after a refusal", []ratelimit.LevelDecision{level(denied(user, 1), 1), level(allowed(tenant), 0)}, "the-user"},
		{"the longest wait", []ratelimit.LevelDecision{level(denied(user, 2), 0), level(denied(tenant, 3), 1), level(denied(global, 1), 0)}, "the-tenant"},
		{"equal waits", []ratelimit.LevelDecision{level(denied(user, 2), 1), level(denied(tenant, 2), 0)}, "the-user"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := answer.Tightest(ratelimit.LayeredDecision{Levels: test.levels}); got.Level != test.want {
				t.Errorf("got %s, want %s", got.Level, test.want)
			}
		})
	}
}

// Ensure that the fields show a subject's own quota, however many there are, and
// the catalog's for everybody else.
func TestGateShowsQuotasOfSubjects(t *testing.T) {
	user, tenant, _ := levelPolicies(t)
	gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, user, tenant)})
	check := func(quota int64) {
		t.Helper()
		own, err := tenant.WithQuota(quota)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		gate.AdmitLayers(w, newRequest(), layers(level(allowed(user), 2), level(allowed(own), 1)))
		want := fmt.Sprintf(`"user";q=3;w=60, "tenant";q=%d;w=60`, quota)
		if got := w.Header().Get("RateLimit-Policy"); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if got, want := w.Header().Get("X-RateLimit-Limit"), fmt.Sprint(quota); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for range 2 {
		for quota := int64(1); quota <= 3000; quota++ {
			check(quota)
		}
	}
}

// Ensure that the log names every level that refuses, and none where there are none.
func TestGateLogsDenials(t *testing.T) {
	user, tenant, global := levelPolicies(t)
	for name, test := range map[string]struct {
		deny func(*answer.Gate, http.ResponseWriter)
		want string
	}{
		"one policy": {
			func(gate *answer.Gate, w http.ResponseWriter) {
				gate.Admit(w, newRequest(), ratelimit.Evaluated{Decision: denied(user, time.Second)})
			},
			`level=DEBUG msg="request denied" policyId=user correlationId=golden`,
		},
		"two levels of three": {
			func(gate *answer.Gate, w http.ResponseWriter) {
				gate.AdmitLayers(w, newRequest(), layers(level(denied(user, time.Second), 0), level(allowed(tenant), 2), level(denied(global, 1), 0)))
			},
			`level=DEBUG msg="request denied" policyId=user correlationId=golden refusedBy="[the-user the-global]"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, user, tenant, global), Logger: logger})
			test.deny(gate, httptest.NewRecorder())
			if _, line, _ := strings.Cut(strings.TrimSpace(log.String()), " "); line != test.want {
				t.Errorf("got  %s\nwant %s", line, test.want)
			}
		})
	}
}

// Ensure that a page of an allowed origin can read that an answer is degraded, and
// that nothing else is said of it.
func TestGateDegrade(t *testing.T) {
	user, _, _ := levelPolicies(t)
	failed := ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Connection}}
	tests := map[string]struct {
		cors *answer.CORS
		want http.Header
	}{
		"no other origin": {nil, http.Header{"Weir-Degraded": {"fail-open"}}},
		"another origin": {newCORS(t, "https://example.org"), http.Header{
			"Weir-Degraded": {"fail-open"}, "Access-Control-Expose-Headers": {"Weir-Degraded"}, "Vary": {"Origin"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gate := newGate(t, answer.GateConfig{Catalog: newCatalog(t, user), CORS: test.cors})
			r := newRequest()
			r.Header.Set("Origin", "https://example.org")
			w := httptest.NewRecorder()
			gate.Degrade(w, r, "fail-open", failed)
			if !maps.EqualFunc(w.Header(), test.want, slices.Equal) || w.Body.Len() > 0 {
				t.Errorf("got %v %s, want %v", w.Header(), w.Body, test.want)
			}
		})
	}
}

func BenchmarkGateAdmitsLayers(b *testing.B) {
	user, tenant, global := levelPolicies(b)
	gate := newGate(b, answer.GateConfig{Catalog: newCatalog(b, user, tenant, global)})
	own, err := tenant.WithQuota(20)
	if err != nil {
		b.Fatal(err)
	}
	outcome := layers(level(allowed(user), 2), level(allowed(own), 9), level(allowed(global), 999))
	w, r := httptest.NewRecorder(), newRequest()
	b.ReportAllocs()
	for b.Loop() {
		gate.AdmitLayers(w, r, outcome)
	}
}

package evaluation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/adapter-inbound-web/internal/openapitest"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// unhurried is a deadline where none is tested: a busy machine may stall for longer
// than the default.
const unhurried = time.Minute

// noon is when the model's clock stands still, and a window begins.
var noon = time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)

func newCatalog(t testing.TB) *ratelimit.Catalog {
	t.Helper()
	var policies []ratelimit.Policy
	for id, parameters := range map[string]ratelimit.Parameters{
		"edge-default": ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
		"login":        ratelimit.SlidingCounter{Limit: 10, Window: 1500 * time.Millisecond},
		"sessions":     ratelimit.SlidingLog{Limit: 10, Window: time.Minute},
		"quotes":       ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillInterval: time.Second},
	} {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID: id, Revision: 3, Parameters: parameters, MaxCost: 10, FailurePolicy: ratelimit.FailClosed,
		})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	snapshot, err := ratelimit.NewSnapshot(policies...)
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

func newConfig(t testing.TB) (evaluation.Config, *ratelimittest.Recorder) {
	t.Helper()
	catalog := newCatalog(t)
	port := &ratelimittest.Recorder{Next: ratelimittest.NewMemory(catalog, func() time.Time { return noon })}
	return evaluation.Config{
		Port: port, Catalog: catalog, Pseudonym: newKey(t), DefaultPolicy: "edge-default",
		Deadline: unhurried,
	}, port
}

// newHandler also holds all responses against the API's document.
func newHandler(t *testing.T, config evaluation.Config) http.Handler {
	t.Helper()
	return openapitest.Wrap(t, newBareHandler(t, config))
}

func newBareHandler(t testing.TB, config evaluation.Config) http.Handler {
	t.Helper()
	handler, err := evaluation.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func newPost(document string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, evaluation.EvaluationsPath, strings.NewReader(document))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "test")
	return r
}

func serve(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

type problem struct {
	Status           int
	Outcome          string
	Category         string
	PolicyID         string
	RetryAfterMillis *int64
	Errors           []answer.DocumentError
}

func readProblem(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q, want that of a problem", got)
	}
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if p.Status != w.Code {
		t.Errorf("document says %d, status is %d", p.Status, w.Code)
	}
	return p
}

// Ensure that decisions, allowed and denied, are answered 200 with all that is
// known of them.
func TestEvaluationDecides(t *testing.T) {
	tests := []struct {
		name, document string
		times          int
		want           string
	}{
		{
			"defaults", `{"subject":"ip:192.0.2.1"}`, 1,
			`{"outcome":"evaluated","decision":{"allowed":true,"policyId":"edge-default","policyRevision":3,"algorithm":"fixed-window","limit":100,"remaining":99,"retryAfterMillis":0,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}}`,
		},
		{
			"everything given", ` {"deadlineMillis":60000,"cost":4,"subject":"\u0061\ud83d\ude00","policyId":"login"} ` + "\n", 1,
			`{"outcome":"evaluated","decision":{"allowed":true,"policyId":"login","policyRevision":3,"algorithm":"sliding-counter","limit":10,"remaining":6,"retryAfterMillis":0,"resetAt":"2026-05-23T12:00:03.000Z","source":"MEMORY","certainty":"APPROXIMATE_ALGORITHM"}}`,
		},
		{
			"denied", `{"subject":"a","policyId":"quotes","cost":6}`, 2,
			`{"outcome":"evaluated","decision":{"allowed":false,"policyId":"quotes","policyRevision":3,"algorithm":"token-bucket","limit":10,"remaining":4,"retryAfterMillis":667,"resetAt":"2026-05-23T12:00:02.000Z","source":"MEMORY","certainty":"CERTAIN"}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := newConfig(t)
			handler := newHandler(t, config)
			var w *httptest.ResponseRecorder
			for range test.times {
				w = serve(handler, newPost(test.document))
			}
			if w.Code != http.StatusOK || w.Body.String() != test.want {
				t.Errorf("got %d\n%s\nwant 200\n%s", w.Code, w.Body, test.want)
			}
			if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("header is %v", w.Header())
			}
		})
	}
}

// Ensure that the reset time has exactly three digits of milliseconds, in UTC.
func TestEvaluationWritesResetAt(t *testing.T) {
	tests := map[time.Time]string{
		noon:                                 "2026-05-23T12:00:00.000Z",
		noon.Add(1234567 * time.Microsecond): "2026-05-23T12:00:01.234Z",
		noon.Add(time.Minute).In(time.FixedZone("", 7200)): "2026-05-23T12:01:00.000Z",
	}
	for given, want := range tests {
		t.Run(want, func(t *testing.T) {
			config, memory := newConfig(t)
			config.Port = ratelimittest.Answers(func(request ratelimit.Request) ratelimit.Outcome {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				outcome := memory.Evaluate(ctx, request).(ratelimit.Evaluated)
				outcome.Decision.ResetAt = given
				return outcome
			})
			w := serve(newHandler(t, config), newPost(`{"subject":"a"}`))
			if !strings.Contains(w.Body.String(), `"resetAt":"`+want+`"`) {
				t.Errorf("got %s, want %s", w.Body, want)
			}
		})
	}
}

// Ensure that what cannot be decided is a problem that says what was charged.
func TestEvaluationFailures(t *testing.T) {
	tests := map[string]struct {
		port ratelimit.EdgePort
		want problem
	}{
		"unavailable": {
			ratelimittest.AlwaysUnavailable(failure.Saturated, 1500*time.Microsecond),
			problem{Outcome: "unavailable", Category: "saturated", PolicyID: "login", RetryAfterMillis: new(int64(2))},
		},
		"indeterminate": {
			ratelimittest.AlwaysIndeterminate(failure.NoReply, 0),
			problem{Outcome: "indeterminate", Category: "no-reply", PolicyID: "login", RetryAfterMillis: new(int64(0))},
		},
		"incompatible": {
			ratelimittest.AlwaysIncompatible(failure.State),
			problem{Outcome: "incompatible", Category: "state", PolicyID: "login", RetryAfterMillis: new(int64(0))},
		},
		"nil": {
			ratelimittest.Answers(func(ratelimit.Request) ratelimit.Outcome { return nil }),
			problem{Outcome: "incompatible", Category: "protocol", RetryAfterMillis: new(int64(0))},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, _ := newConfig(t)
			config.Port = test.port
			w := serve(newHandler(t, config), newPost(`{"subject":"a","policyId":"login"}`))
			got := readProblem(t, w)
			if got.RetryAfterMillis == nil || *got.RetryAfterMillis != *test.want.RetryAfterMillis {
				t.Errorf("retryAfterMillis is %v, want %d", got.RetryAfterMillis, *test.want.RetryAfterMillis)
			}
			if got.Outcome != test.want.Outcome || got.Category != test.want.Category || got.PolicyID != test.want.PolicyID || w.Code != http.StatusServiceUnavailable {
				t.Errorf("got %d %+v, want 503 %+v", w.Code, got, test.want)
			}
		})
	}
}

// Ensure that a request with a fault is refused with all its faults, and that
// nobody is asked, so nothing is consumed.
func TestEvaluationRefuses(t *testing.T) {
	long := strings.Repeat("x", pseudonym.MaxSubjectBytes+1)
	tests := []struct {
		name, document string
		status         int
		pointers       []string
	}{
		{"nothing", ``, 400, []string{""}},
		{"no object", `[]`, 400, []string{""}},
		{"root without layers", `{"subject":"a","root":"a"}`, 400, []string{"/root"}},
		{"null", `null`, 400, []string{""}},
		{"string", `"subject"`, 400, []string{""}},
		{"empty object", `{}`, 400, []string{"/subject"}},
		{"broken", `{"subject":`, 400, []string{""}},
		{"broken literal", `{"subject":tru}`, 400, []string{""}},
		{"unclosed", `{"subject":"a"`, 400, []string{""}},
		{"comma at the end", `{"subject":"a",}`, 400, []string{""}},
		{"no colon", `{"subject" "a"}`, 400, []string{""}},
		{"key without quotes", `{subject:"a"}`, 400, []string{""}},
		{"trailing object", `{"subject":"a"}{}`, 400, []string{""}},
		{"trailing text", `{"subject":"a"} x`, 400, []string{""}},
		{"byte order mark", "\ufeff{\"subject\":\"a\"}", 400, []string{""}},
		{"not UTF-8", "{\"subject\":\"\xff\"}", 400, []string{""}},
		{"faults before the break", `{"cost":0,"x":1,`, 400, []string{"/cost", "/x", ""}},
		{"half a character", `{"subject":"\ud800"}`, 400, []string{"/subject"}},
		{"halves in the wrong order", `{"subject":"\ude00\ud83d"}`, 400, []string{"/subject"}},
		{"half behind a backslash", `{"subject":"\\\ud800x"}`, 400, []string{"/subject"}},
		{"unknown", `{"subject":"a","costs":1}`, 400, []string{"/costs"}},
		{"unknown by its case", `{"subject":"a","Cost":1}`, 400, []string{"/Cost"}},
		{"unknown, escaped", `{"subject":"a","a/b~c":{"d":[1]}}`, 400, []string{"/a~1b~0c"}},
		{"given twice", `{"subject":"a","subject":"b"}`, 400, []string{"/subject"}},
		{"given twice, then wrong", `{"subject":"a","subject":1}`, 400, []string{"/subject"}},
		{"given twice, escaped", `{"cost":1,"subject":"a","\u0063ost":1}`, 400, []string{"/cost"}},
		{"everything wrong", `{"policyId":1,"subject":{},"cost":"1","deadlineMillis":0,"evaluationId":[],"x":0}`, 400,
			[]string{"/policyId", "/subject", "/cost", "/deadlineMillis", "/evaluationId", "/x"}},
		{"nulls", `{"policyId":null,"subject":null,"cost":null,"deadlineMillis":null,"evaluationId":null}`, 400,
			[]string{"/policyId", "/subject", "/cost", "/deadlineMillis", "/evaluationId"}},
		{"empty subject", `{"subject":""}`, 400, []string{"/subject"}},
		{"long subject", `{"subject":"` + long + `"}`, 400, []string{"/subject"}},
		{"cost 0", `{"subject":"a","cost":0}`, 400, []string{"/cost"}},
		{"cost -0", `{"subject":"a","cost":-0}`, 400, []string{"/cost"}},
		{"negative cost", `{"subject":"a","cost":-5}`, 400, []string{"/cost"}},
		{"very negative cost", `{"subject":"a","cost":-99999999999999999999}`, 400, []string{"/cost"}},
		{"fractional cost", `{"subject":"a","cost":1.5}`, 400, []string{"/cost"}},
		{"cost with a decimal point", `{"subject":"a","cost":1.0}`, 400, []string{"/cost"}},
		{"cost with an exponent", `{"subject":"a","cost":1e0}`, 400, []string{"/cost"}},
		{"cost as text", `{"subject":"a","cost":" 1"}`, 400, []string{"/cost"}},
		{"cost as word", `{"subject":"a","cost":true}`, 400, []string{"/cost"}},
		{"deadline too long", `{"subject":"a","deadlineMillis":60001}`, 400, []string{"/deadlineMillis"}},
		{"deadline far too long", `{"subject":"a","deadlineMillis":99999999999999999999}`, 400, []string{"/deadlineMillis"}},
		{"unknown policy", `{"subject":"a","policyId":"other"}`, 404, nil},
		{"impossible policy", `{"subject":"a","policyId":"Edge Default"}`, 404, nil},
		{"no policy's name", `{"subject":"a","policyId":""}`, 404, nil},
		{"cost above the maximum", `{"subject":"a","cost":11}`, 422, []string{"/cost"}},
		{"cost above all", `{"subject":"a","cost":99999999999999999999}`, 422, []string{"/cost"}},
		{"evaluation ID", `{"subject":"a","evaluationId":"1"}`, 422, []string{"/evaluationId"}},
		{"both", `{"subject":"a","evaluationId":"1","cost":11}`, 422, []string{"/cost", "/evaluationId"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			checkRefusal(t, serve(newHandler(t, config), newPost(test.document)), test.status, test.pointers)
			if got := port.Requests(); len(got) > 0 {
				t.Errorf("the port was asked %v", got)
			}
		})
	}
}

// checkRefusal checks the status of a problem, and what its errors point to.
func checkRefusal(t *testing.T, w *httptest.ResponseRecorder, status int, want []string) {
	t.Helper()
	var pointers []string
	for _, fault := range readProblem(t, w).Errors {
		pointers = append(pointers, fault.Pointer)
		if fault.Detail == "" {
			t.Errorf("%q has no detail", fault.Pointer)
		}
	}
	if w.Code != status || !slices.Equal(pointers, want) {
		t.Errorf("got %d %q, want %d %q", w.Code, pointers, status, want)
	}
}

// Ensure that a subject with a quota of its own is asked no more than that, and
// that the decision shows it.
func TestEvaluationFollowsOverrides(t *testing.T) {
	config, port := newConfig(t)
	override(t, config, "edge-default", "small", 5)
	handler := newHandler(t, config)
	checkRefusal(t, serve(handler, newPost(`{"subject":"small","cost":6}`)), http.StatusUnprocessableEntity, []string{"/cost"})
	if got := port.Requests(); len(got) > 0 {
		t.Errorf("the port was asked %v", got)
	}
	for document, want := range map[string]string{
		`{"subject":"small","cost":5}`: `"limit":5,"remaining":0,`,
		`{"subject":"other","cost":6}`: `"limit":100,"remaining":94,`,
	} {
		if w := serve(handler, newPost(document)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want 200 with %s", document, w.Code, w.Body, want)
		}
	}
}

// override gives a subject of config's key another quota.
func override(t *testing.T, config evaluation.Config, policyID, text string, limit int64) {
	t.Helper()
	who, err := pseudonym.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := config.Catalog.Current().WithOverrides(ratelimit.Override{
		PolicyID: policyID, Subject: who.Digest(config.Pseudonym), Limit: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	config.Catalog.Replace(snapshot)
}

// Ensure that a hostile document does not get an answer of any length.
func TestEvaluationBoundsFaults(t *testing.T) {
	var document strings.Builder
	document.WriteString(`{"subject":"a"`)
	for i := range 1000 {
		fmt.Fprintf(&document, `,"x%d":0`, i)
	}
	document.WriteString(`}`)
	config, _ := newConfig(t)
	if got := len(readProblem(t, serve(newHandler(t, config), newPost(document.String()))).Errors); got != 32 {
		t.Errorf("got %d faults, want 32", got)
	}
}

// Ensure that requests are refused for what their headers say, at every size
// and in every form, before anything is consumed.
func TestEvaluationRefusesForms(t *testing.T) {
	const document = `{"subject":"a"}`
	padded := func(size int) string { return document + strings.Repeat(" ", size-len(document)) }
	tests := []struct {
		name   string
		change func(*http.Request)
		body   string
		status int
		field  string
		want   string
	}{
		{"GET", func(r *http.Request) { r.Method = http.MethodGet }, document, 405, "Allow", "POST"},
		{"HEAD", func(r *http.Request) { r.Method = http.MethodHead }, document, 405, "Allow", "POST"},
		{"lower-case POST", func(r *http.Request) { r.Method = "post" }, document, 405, "Allow", "POST"},
		{"no type", func(r *http.Request) { r.Header.Del("Content-Type") }, document, 415, "Accept", "application/json"},
		{"form", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, document, 415, "Accept", "application/json"},
		{"text", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, document, 415, "Accept", "application/json"},
		{"broken type", func(r *http.Request) { r.Header.Set("Content-Type", "application/json; =") }, document, 415, "Accept", "application/json"},
		{"compressed", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, document, 415, "Accept", "application/json"},
		{"too large", func(*http.Request) {}, padded(64<<10 + 1), 413, "", ""},
		{"cut off", func(r *http.Request) { r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), brokenReader{})) }, "", 400, "", ""},
		{"another path", func(r *http.Request) { r.URL.Path = "/v1/evaluations/" }, document, 404, "", ""},
		{"largest", func(*http.Request) {}, padded(64 << 10), 200, "", ""},
		{"type with a parameter", func(r *http.Request) { r.Header.Set("Content-Type", "Application/JSON; charset=utf-8") }, document, 200, "", ""},
		{"identity", func(r *http.Request) { r.Header.Set("Content-Encoding", "Identity") }, document, 200, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newConfig(t)
			r := newPost(test.body)
			test.change(r)
			w := serve(newHandler(t, config), r)
			if w.Code != test.status || test.field != "" && w.Header().Get(test.field) != test.want {
				t.Errorf("got %d %v, want %d and %s: %s", w.Code, w.Header(), test.status, test.field, test.want)
			}
			if asked := len(port.Requests()) > 0; asked != (test.status == http.StatusOK) {
				t.Errorf("the port was asked: %t", asked)
			}
			if test.status != http.StatusOK {
				readProblem(t, w)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type portFunc func(context.Context, ratelimit.Request) ratelimit.Outcome

func (f portFunc) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return f(ctx, request)
}

// Ensure that an evaluation is bounded by the caller's deadline, otherwise by
// the configured one, otherwise by the default.
func TestEvaluationDeadlines(t *testing.T) {
	tests := []struct {
		name       string
		configured time.Duration
		document   string
		want       time.Duration
	}{
		{"default", 0, `{"subject":"a"}`, evaluation.DefaultDeadline},
		{"configured", time.Second, `{"subject":"a"}`, time.Second},
		{"shortest", time.Second, `{"subject":"a","deadlineMillis":1}`, time.Millisecond},
		{"longest", time.Second, `{"subject":"a","deadlineMillis":60000}`, time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, memory := newConfig(t)
				config.Deadline = test.configured
				config.Port = portFunc(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != test.want {
						t.Errorf("deadline is in %v, want %v", time.Until(deadline), test.want)
					}
					return memory.Evaluate(ctx, request)
				})
				if w := serve(newHandler(t, config), newPost(test.document)); w.Code != http.StatusOK {
					t.Errorf("got %d, want 200", w.Code)
				}
			})
		})
	}
}

// Ensure that subjects that differ in any way are charged apart, and that no
// subject reaches the port as it is.
func TestEvaluationDigestsSubjects(t *testing.T) {
	config, port := newConfig(t)
	handler := newHandler(t, config)
	subjects := []string{"ip:192.0.2.1", "header:X-Api-Key:192.0.2.1", "192.0.2.1", "{a}", "a\\u0000b", "a\\nb", "a\\\\ud800", "*", "😀"}
	for _, subject := range subjects {
		if w := serve(handler, newPost(`{"subject":"`+subject+`"}`)); w.Code != http.StatusOK {
			t.Fatalf("%s: got %d, want 200", subject, w.Code)
		}
	}
	seen := map[pseudonym.Digest]bool{}
	for _, request := range port.Requests() {
		seen[request.Subject()] = true
	}
	if len(seen) != len(subjects) {
		t.Errorf("got %d digests, want %d", len(seen), len(subjects))
	}
	address, err := pseudonym.ParseSubject("ip:192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	if got := port.Requests()[0].Subject(); got != address.Digest(newKey(t)) {
		t.Errorf("got %x, want the digest under the given key", got)
	}
}

// Ensure that an address is the same subject here as at an edge with the same
// width of IPv6 prefixes.
func TestEvaluationAddressing(t *testing.T) {
	for bits, prefix := range map[int]string{0: "2001:db8:0:1::/64", 56: "2001:db8::/56", 128: "2001:db8:0:1::7/128"} {
		t.Run(prefix, func(t *testing.T) {
			config, port := newConfig(t)
			config.Addressing = pseudonym.Addressing{IPv6Bits: bits}
			extractor, err := subject.New(subject.Config{Addressing: config.Addressing})
			if err != nil {
				t.Fatal(err)
			}
			limit, err := edge.New(edge.Config{
				Port: config.Port, Catalog: config.Catalog, Pseudonym: config.Pseudonym, DefaultPolicy: config.DefaultPolicy, Subject: extractor,
				Deadline: config.Deadline,
			})
			if err != nil {
				t.Fatal(err)
			}
			handler := newHandler(t, config)
			serve(handler, newPost(`{"subject":"ip:2001:db8:0:1::7"}`))
			serve(handler, newPost(`{"subject":"ip:`+prefix+`"}`))
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = "[2001:db8:0:1::7]:4711"
			serve(limit(http.NotFoundHandler()), r)
			requests := port.Requests()
			if len(requests) != 3 || requests[0].Subject() != requests[1].Subject() || requests[0].Subject() != requests[2].Subject() {
				t.Errorf("got %v, want one subject three times", requests)
			}
		})
	}
	if _, err := evaluation.New(evaluation.Config{Addressing: pseudonym.Addressing{IPv6Bits: 129}}); err == nil || err.Error() != "ipv6-prefix: is 129, must be 32 to 128" {
		t.Errorf("a width that is none: %v", err)
	}
}

// Ensure that without a port requests are still checked, and then answered that
// limiting is disabled.
func TestEvaluationDisabled(t *testing.T) {
	handler := newHandler(t, evaluation.Config{})
	tests := []struct {
		name, document string
		status         int
		category       string
	}{
		{"well-formed", `{"subject":"a","policyId":"any","cost":1000}`, 503, "disabled"},
		{"faulty", `{"subject":"a","cost":0}`, 400, ""},
		{"evaluation ID", `{"subject":"a","evaluationId":"1"}`, 422, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := readProblem(t, serve(handler, newPost(test.document)))
			if p.Status != test.status || p.Category != test.category {
				t.Errorf("got %d %q, want %d %q", p.Status, p.Category, test.status, test.category)
			}
			if test.status == 503 && p.Outcome != "unavailable" {
				t.Errorf("outcome is %q, want unavailable", p.Outcome)
			}
		})
	}
	tooMuch := readProblem(t, serve(handler, newPost(`{"subject":"a","cost":1000000000000000}`)))
	if want := "is above the maximum of all policies, 999999999999999"; len(tooMuch.Errors) != 1 || tooMuch.Errors[0].Detail != want {
		t.Errorf("got %+v, want %q and no word of a policy", tooMuch.Errors, want)
	}
	w := serve(handler, httptest.NewRequest(http.MethodGet, evaluation.PoliciesPath, nil))
	if want := `{"enabled":false,"policies":[]}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("got %d %s, want 200 %s", w.Code, w.Body, want)
	}
}

// Ensure that the policies in force are listed as they are, and that listing
// them consumes nothing.
func TestPolicies(t *testing.T) {
	config, port := newConfig(t)
	handler := newHandler(t, config)
	want := `{"enabled":true,"policies":[` +
		`{"id":"edge-default","revision":3,"algorithm":"fixed-window","quota":100,"windowMillis":60000,"maxCost":10,"default":true,"parameters":{"limit":100,"windowMillis":60000}},` +
		`{"id":"login","revision":3,"algorithm":"sliding-counter","quota":10,"windowMillis":1500,"maxCost":10,"default":false,"parameters":{"limit":10,"windowMillis":1500}},` +
		`{"id":"quotes","revision":3,"algorithm":"token-bucket","quota":10,"windowMillis":3334,"maxCost":10,"default":false,"parameters":{"capacity":10,"refillTokens":3,"refillIntervalMillis":1000}},` +
		`{"id":"sessions","revision":3,"algorithm":"sliding-log","quota":10,"windowMillis":60000,"maxCost":10,"default":false,"parameters":{"limit":10,"windowMillis":60000}}]}`
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := serve(handler, httptest.NewRequest(method, evaluation.PoliciesPath, nil))
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: got %d\n%s\nwant 200\n%s", method, w.Code, w.Body, want)
		}
	}
	w := serve(handler, httptest.NewRequest(http.MethodPost, evaluation.PoliciesPath, nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d, Allow: %s", w.Code, w.Header().Get("Allow"))
	}
	config.Catalog.Replace(nil)
	w = serve(handler, httptest.NewRequest(http.MethodGet, evaluation.PoliciesPath, nil))
	if want := `{"enabled":true,"policies":[]}`; w.Body.String() != want {
		t.Errorf("after a change: got %s, want %s", w.Body, want)
	}
	if got := port.Requests(); len(got) > 0 {
		t.Errorf("the port was asked %v", got)
	}
}

// Ensure that all faults come at once and name their fields.
func TestNewFaults(t *testing.T) {
	config, _ := newConfig(t)
	tests := []struct {
		name   string
		config evaluation.Config
		want   string
	}{
		{"no catalog and no key", evaluation.Config{Port: config.Port, Deadline: -1}, "deadline: is -1ns, must not be negative; pseudonym: must be given; catalog: must be given"},
		{"no default", evaluation.Config{Port: config.Port, Catalog: config.Catalog, Pseudonym: config.Pseudonym}, `default-policy: there is no policy ""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := evaluation.New(test.config); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func BenchmarkEvaluation(b *testing.B) {
	catalog := newCatalog(b)
	policy, _ := catalog.Current().Policy("edge-default")
	handler := newBareHandler(b, evaluation.Config{
		Port: ratelimittest.AlwaysAllows(policy), Catalog: catalog, Pseudonym: newKey(b), DefaultPolicy: "edge-default",
	})
	document := strings.NewReader(`{"subject":"ip:192.0.2.1","cost":2}`)
	r := newPost("")
	r.Body = io.NopCloser(document)
	b.ReportAllocs()
	for b.Loop() {
		document.Seek(0, io.SeekStart)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}

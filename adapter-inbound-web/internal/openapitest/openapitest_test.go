package openapitest_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/internal/openapitest"
)

const (
	decided   = `{"outcome":"evaluated","decision":{"allowed":true,"policyId":"edge-default","policyRevision":3,"algorithm":"fixed-window","limit":100,"remaining":99,"retryAfterMillis":0,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}}`
	oneLevel  = `{"name":"user","allowed":false,"policyId":"edge-default","policyRevision":3,"algorithm":"sliding-log","limit":100,"remaining":0,"retryAfterMillis":1,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}`
	layered   = `{"outcome":"evaluated","decision":{"allowed":false,"remaining":0,"retryAfterMillis":1,"refusedBy":["user"],"levels":[` + oneLevel + `]}}`
	noPolicy  = `{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such policy.","errors":[{"pointer":"/layers/0/policyId","detail":"is the ID of no policy"}],"correlationId":"1"}`
	notFound  = `{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such policy.","correlationId":"1"}`
	undecided = `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"","violated-policies":["a"],"outcome":"unavailable","category":"saturated","policyId":"a","retryAfterMillis":0,"correlationId":"1"}`
	denied    = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":403,"detail":"","violated-policies":["a"],"policyId":"a","retryAfterSeconds":1,"correlationId":"1"}`
	policies  = `{"enabled":false,"policies":[]}`
	asked     = `{"subject":"ip:192.0.2.1"}`
	level     = `{"name":"user","policyId":"edge-default","subject":"a"}`
	askedAll  = `{"layers":[{"name":"user","policyId":"edge-default","subject":"a","cost":1,"limit":100,"shared":true}],"root":"user","deadlineMillis":1}`
)

// exchange is a request and what it is answered.
type exchange struct {
	method, path, content string
	status                int
	header                string // "Name: value" lines
	body                  string
}

const (
	jsonHeader    = "Content-Type: application/json\nCache-Control: no-store"
	problemHeader = "Content-Type: application/problem+json\nCache-Control: no-store\nX-Request-Id: 1"
	noTokenHeader = problemHeader + "\nWWW-Authenticate: Weir header=\"Weir-Management-Token\""
	ietfHeader    = "\nRateLimit-Policy: \"a\";q=1;w=1\nRateLimit: \"a\";r=0;t=1"
	legacyHeader  = "\nX-RateLimit-Limit: 1\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1"
	deniedHeader  = problemHeader + "\nRetry-After: 1" + ietfHeader + legacyHeader
)

func (e exchange) check(d *openapitest.Document) error {
	r := httptest.NewRequest(e.method, e.path, strings.NewReader(e.content))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	for line := range strings.Lines(e.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Set(name, value)
	}
	w.WriteHeader(e.status)
	w.WriteString(e.body)
	return d.Check(r, []byte(e.content), w.Result())
}

// Ensure that what a response has and the document does not is caught, and what
// it lacks, planted one at a time into exchanges that are described.
func TestCheckCatchesPlantedFaults(t *testing.T) {
	document, err := openapitest.Load()
	if err != nil {
		t.Fatal(err)
	}
	success := exchange{http.MethodPost, "/v1/evaluations", asked, 200, jsonHeader, decided}
	layers := exchange{http.MethodPost, "/v1/evaluations", askedAll, 200, jsonHeader, layered}
	levelProblem := exchange{http.MethodPost, "/v1/evaluations", askedAll, 404, problemHeader, noPolicy}
	problem := exchange{http.MethodPost, "/v1/evaluations", asked, 404, problemHeader, notFound}
	failure := exchange{http.MethodPost, "/v1/evaluations", asked, 503, problemHeader + "\nRetry-After: 1", undecided}
	unknown := exchange{http.MethodGet, "/other", "", 404, problemHeader, notFound}
	method := exchange{http.MethodDelete, "/v1/policies", "", 405, problemHeader + "\nAllow: GET, HEAD", strings.ReplaceAll(notFound, "404", "405")}
	head := exchange{http.MethodHead, "/v1/policies", "", 200, jsonHeader, ""}
	headNoToken := exchange{http.MethodHead, "/v1/policies", "", 401, noTokenHeader, ""}
	admission := exchange{http.MethodGet, "/v1/authorize", "", 204, "Cache-Control: no-store", ""}
	denial := exchange{http.MethodGet, "/v1/authorize", "", 403, deniedHeader, denied}
	headDenial := exchange{http.MethodHead, "/v1/authorize", "", 429, deniedHeader, ""}
	layersDenial := exchange{http.MethodGet, "/v1/authorize", "", 403, deniedHeader + "\nWeir-Degraded: local-fallback", strings.Replace(denied, `{`, `{"refusedBy":["user","tenant"],`, 1)}
	openGate := exchange{http.MethodGet, "/v1/authorize", "", 204, "Cache-Control: no-store\nWeir-Degraded: fail-open", ""}
	metrics := exchange{http.MethodGet, "/metrics", "", 200, "Content-Type: text/plain; version=0.0.4; charset=utf-8", "a 1\n"}
	stranger := exchange{http.MethodGet, "/v1/authorize", "", 403, problemHeader, strings.ReplaceAll(notFound, "404", "403")}
	without := func(text string) func(*exchange) {
		return func(e *exchange) { e.header = strings.Replace(e.header, text, "", 1) }
	}
	tests := []struct {
		name   string
		from   exchange
		change func(*exchange)
		want   string // a part of the fault; empty for none
	}{
		{"success", success, func(*exchange) {}, ""},
		{"layers", layers, func(*exchange) {}, ""},
		{"unknown policy of a level", levelProblem, func(*exchange) {}, ""},
		{"problem", problem, func(*exchange) {}, ""},
		{"failure", failure, func(*exchange) {}, ""},
		{"unknown path", unknown, func(*exchange) {}, ""},
		{"method that is not allowed", method, func(*exchange) {}, ""},
		{"HEAD", head, func(*exchange) {}, ""},
		{"HEAD without token", headNoToken, func(*exchange) {}, ""},
		{"HEAD as the handler answers it", head, func(e *exchange) { e.body = policies }, ""},
		{"admission", admission, func(*exchange) {}, ""},
		{"denial", denial, func(*exchange) {}, ""},
		{"denial of HEAD", headDenial, func(*exchange) {}, ""},
		{"denial with one family", denial, without(legacyHeader), ""},
		{"denial with the other family", denial, without(ietfHeader), ""},
		{"denial of levels, degraded", layersDenial, func(*exchange) {}, ""},
		{"open gate", openGate, func(*exchange) {}, ""},
		{"metrics", metrics, func(*exchange) {}, ""},
		{"no metrics", metrics, func(e *exchange) { e.status, e.header, e.body = 404, problemHeader, notFound }, ""},
		{"stranger", stranger, func(*exchange) {}, ""},

		{"a field more", success, func(e *exchange) { e.body = strings.Replace(decided, `{`, `{"node":1,`, 1) }, "node"},
		{"a field more, within", success, func(e *exchange) { e.body = strings.Replace(decided, `"limit"`, `"burst":1,"limit"`, 1) }, "burst"},
		{"a field more of a problem", problem, func(e *exchange) { e.body = strings.Replace(notFound, `{`, `{"hint":"",`, 1) }, "hint"},
		{"a field less", success, func(e *exchange) { e.body = strings.Replace(decided, `"limit":100,`, ``, 1) }, "limit"},
		{"another type", success, func(e *exchange) { e.body = strings.Replace(decided, `:99`, `:"99"`, 1) }, "remaining"},
		{"another form", success, func(e *exchange) { e.body = strings.Replace(decided, `00.000Z`, `00Z`, 1) }, "resetAt"},
		{"another category", failure, func(e *exchange) { e.body = strings.Replace(undecided, `saturated`, `busy`, 1) }, "category"},
		{"another outcome", failure, func(e *exchange) { e.body = strings.Replace(undecided, `unavailable`, `denied`, 1) }, "outcome"},
		{"a failure's field on a problem", problem, func(e *exchange) { e.body = strings.Replace(notFound, `{`, `{"outcome":"unavailable",`, 1) }, "outcome"},
		{"no JSON", success, func(e *exchange) { e.body = "decided" }, "not described"},

		{"a field more of several levels", layers, func(e *exchange) { e.body = strings.Replace(layered, `"levels"`, `"policyId":"a","levels"`, 1) }, "policyId"},
		{"a field less of several levels", layers, func(e *exchange) { e.body = strings.Replace(layered, `"refusedBy":["user"],`, ``, 1) }, "refusedBy"},
		{"no list of refusing levels", layers, func(e *exchange) { e.body = strings.Replace(layered, `["user"]`, `null`, 1) }, "refusedBy"},
		{"no levels", layers, func(e *exchange) { e.body = strings.Replace(layered, oneLevel, ``, 1) }, "levels"},
		{"a field more of a level", layers, func(e *exchange) { e.body = strings.Replace(layered, `"limit"`, `"burst":1,"limit"`, 1) }, "burst"},
		{"a field less of a level", layers, func(e *exchange) { e.body = strings.Replace(layered, `"name":"user",`, ``, 1) }, "name"},
		{"another algorithm of a level", layers, func(e *exchange) { e.body = strings.Replace(layered, `sliding-log`, `gcra`, 1) }, "algorithm"},
		{"a level's field of a decision", success, func(e *exchange) { e.body = strings.Replace(decided, `"allowed"`, `"name":"user","allowed"`, 1) }, "name"},
		{"a field more of a level's fault", levelProblem, func(e *exchange) { e.body = strings.Replace(noPolicy, `"pointer"`, `"level":"user","pointer"`, 1) }, "level"},
		{"no faults of levels", levelProblem, func(e *exchange) { e.body = strings.Replace(notFound, `{`, `{"errors":[],`, 1) }, "errors"},
		{"no refusing levels of a denial", layersDenial, func(e *exchange) { e.body = strings.Replace(denied, `{`, `{"refusedBy":[],`, 1) }, "refusedBy"},
		{"an unknown failure mode", openGate, func(e *exchange) { e.header = strings.Replace(e.header, "fail-open", "fail-closed", 1) }, "Weir-Degraded"},
		{"metrics of another type", metrics, func(e *exchange) { e.header = jsonHeader; e.body = `{}` }, "application/json"},

		{"another status", success, func(e *exchange) { e.status = 202 }, "202"},
		{"another status of a problem", problem, func(e *exchange) { e.status = 409 }, "409"},
		{"another media type", problem, func(e *exchange) { e.header = strings.Replace(problemHeader, "problem+json", "json", 1) }, "application/json"},
		{"a header field less", problem, func(e *exchange) { e.header = strings.Replace(problemHeader, "X-Request-Id: 1", "", 1) }, "X-Request-Id"},
		{"a cached answer", success, func(e *exchange) { e.header = "Content-Type: application/json" }, "Cache-Control"},
		{"a cached answer to HEAD", head, without("\nCache-Control: no-store"), "Cache-Control"},
		{"a cached refusal of HEAD", headNoToken, without("\nCache-Control: no-store"), "Cache-Control"},
		{"a HEAD without challenge", headNoToken, func(e *exchange) { e.header = problemHeader }, "WWW-Authenticate"},
		{"a field more of what the handler answers HEAD", head, func(e *exchange) { e.body = strings.Replace(policies, `{`, `{"node":1,`, 1) }, "node"},
		{"another status of HEAD", head, func(e *exchange) { e.status = 206 }, "206"},
		{"a cached admission", admission, func(e *exchange) { e.header = "" }, "Cache-Control"},
		{"a denial without wait", denial, without("\nRetry-After: 1"), "Retry-After"},
		{"a denial of HEAD without wait", headDenial, without("\nRetry-After: 1"), "Retry-After"},
		{"a denial without quota", denial, func(e *exchange) { e.header = problemHeader + "\nRetry-After: 1" }, "RateLimit"},
		{"a denial with parts of the quota", denial, func(e *exchange) { without("\nRateLimit: \"a\";r=0;t=1")(e); without("\nX-RateLimit-Reset: 1")(e) }, "RateLimit"},
		{"a denial with a wait that is none", denial, func(e *exchange) { e.header = strings.Replace(deniedHeader, "Retry-After: 1", "Retry-After: 0", 1) }, "Retry-After"},

		{"a field of the request", success, func(e *exchange) { e.content = `{"subject":"a","burst":1}` }, "burst"},
		{"a field of a refused request", problem, func(e *exchange) { e.content = `{"subject":"a","burst":1}` }, ""},
		{"a field of a request with layers", layers, func(e *exchange) { e.content = strings.Replace(askedAll, `{`, `{"subject":"a",`, 1) }, "subject"},
		{"a field of a level", layers, func(e *exchange) { e.content = strings.Replace(askedAll, `"name"`, `"burst":1,"name"`, 1) }, "burst"},
		{"a level without a name", layers, func(e *exchange) { e.content = strings.Replace(askedAll, `"name":"user",`, ``, 1) }, "name"},
		{"more levels than eight", layers, func(e *exchange) { e.content = `{"layers":[` + strings.Repeat(level+`,`, 8) + level + `]}` }, "layers"},
		{"a limit of nothing", layers, func(e *exchange) { e.content = strings.Replace(askedAll, `100`, `0`, 1) }, "limit"},
		{"a root without layers", success, func(e *exchange) { e.content = `{"subject":"a","root":"a"}` }, "root"},
		{"a path that exists", unknown, func(e *exchange) { e.status, e.header, e.body = 200, jsonHeader, `{}` }, "/other"},
		{"a method that is allowed", method, func(e *exchange) { e.status, e.header, e.body = 200, jsonHeader, `{}` }, "DELETE"},
		{"a method that is said to be allowed", method, func(e *exchange) { e.header = problemHeader + "\nAllow: DELETE, GET" }, "DELETE"},
		{"a field of an unknown path", unknown, func(e *exchange) { e.body = strings.Replace(notFound, `{`, `{"path":"",`, 1) }, "path"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := test.from
			test.change(&e)
			err := e.check(document)
			if test.want == "" && err != nil {
				t.Errorf("unexpected: %v", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want a fault with %q", err, test.want)
			}
		})
	}
}

// Ensure that a document that is not valid is refused.
func TestParseRefuses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "management", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openapitest.Parse(text); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no title":          {"  title: Weir\n", ""},
		"a member too many": {"  title: Weir\n", "  title: Weir\n  headline: Weir\n"},
		"another version":   {"openapi: 3.1.1", "openapi: 2.1.1"},
		"a place of no use": {"in: query", "in: body"},
		"a dead reference":  {"schemas/Evaluated\"", "schemas/Nothing\""},
		"no YAML":           {"info:", "info: {"},
	} {
		t.Run(name, func(t *testing.T) {
			planted := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
			if bytes.Equal(planted, text) {
				t.Fatalf("nothing planted: %q does not occur", change[0])
			}
			if _, err := openapitest.Parse(planted); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

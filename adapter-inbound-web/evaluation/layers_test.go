package evaluation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

type layeredPortFunc func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (f layeredPortFunc) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return f(ctx, request)
}

// newLayeredConfig has one memory behind both of its ports.
func newLayeredConfig(t testing.TB) (evaluation.Config, *ratelimittest.LayeredRecorder) {
	t.Helper()
	catalog := newCatalog(t)
	memory := ratelimittest.NewMemory(catalog, func() time.Time { return noon })
	layers := &ratelimittest.LayeredRecorder{Next: memory}
	return evaluation.Config{
		Port: memory, LayeredPort: layers, Catalog: catalog, Pseudonym: newKey(t), DefaultPolicy: "edge-default",
		Deadline: unhurried,
	}, layers
}

func digestOf(t *testing.T, text string) pseudonym.Digest {
	t.Helper()
	who, err := pseudonym.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	return who.Digest(newKey(t))
}

// Members of documents, of levels with a counter of their own.
const (
	user   = `{"name":"user","policyId":"sessions","subject":"alice"}`
	tenant = `{"name":"tenant","policyId":"edge-default","subject":"acme"}`
	global = `{"name":"global","policyId":"quotes","subject":"all","shared":true}`
)

// Ensure that decisions of several levels, allowed and denied, are answered 200
// with what the levels say together and what each says by itself.
func TestLayersDecide(t *testing.T) {
	const (
		userOfThree = `{"name":"user","policyId":"sessions","subject":"alice","limit":3}`
		tenantOfTen = `{"name":"tenant","policyId":"edge-default","subject":"acme","limit":10}`
	)
	tests := []struct {
		name, document string
		times          int
		want           string
	}{
		{
			"one level", `{"layers":[` + tenant + `]}`, 1,
			`{"allowed":true,"remaining":99,"retryAfterMillis":0,"refusedBy":[],"levels":[` +
				`{"name":"tenant","allowed":true,"policyId":"edge-default","policyRevision":3,"algorithm":"fixed-window","limit":100,"remaining":99,"retryAfterMillis":0,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}]}`,
		},
		{
			"everything given", `{"deadlineMillis":60000,"root":"login","layers":[` +
				`{"shared":false,"limit":9,"cost":2,"subject":"\u0061","policyId":"login","name":"login"},` +
				`{"name":"all-1","policyId":"quotes","subject":"\ud83d\ude00","cost":10,"limit":10,"shared":true}]}`, 1,
			`{"allowed":true,"remaining":0,"retryAfterMillis":0,"refusedBy":[],"levels":[` +
				`{"name":"login","allowed":true,"policyId":"login","policyRevision":3,"algorithm":"sliding-counter","limit":9,"remaining":7,"retryAfterMillis":0,"resetAt":"2026-05-23T12:00:03.000Z","source":"MEMORY","certainty":"APPROXIMATE_ALGORITHM"},` +
				`{"name":"all-1","allowed":true,"policyId":"quotes","policyRevision":3,"algorithm":"token-bucket","limit":10,"remaining":0,"retryAfterMillis":0,"resetAt":"2026-05-23T12:00:03.334Z","source":"MEMORY","certainty":"CERTAIN"}]}`,
		},
		{
			"denied by one", `{"layers":[` + userOfThree + `,` + tenantOfTen + `]}`, 4,
			`{"allowed":false,"remaining":0,"retryAfterMillis":60000,"refusedBy":["user"],"levels":[` +
				`{"name":"user","allowed":false,"policyId":"sessions","policyRevision":3,"algorithm":"sliding-log","limit":3,"remaining":0,"retryAfterMillis":60000,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"},` +
				`{"name":"tenant","allowed":true,"policyId":"edge-default","policyRevision":3,"algorithm":"fixed-window","limit":10,"remaining":7,"retryAfterMillis":0,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}]}`,
		},
		{
			"denied by two of three", `{"layers":[` + strings.Replace(global, `"all"`, `"all","cost":6`, 1) + `,` + tenant + `,` +
				strings.Replace(user, `"alice"`, `"alice","cost":6`, 1) + `]}`, 2,
			`{"allowed":false,"remaining":4,"retryAfterMillis":60000,"refusedBy":["global","user"],"levels":[` +
				`{"name":"global","allowed":false,"policyId":"quotes","policyRevision":3,"algorithm":"token-bucket","limit":10,"remaining":4,"retryAfterMillis":667,"resetAt":"2026-05-23T12:00:02.000Z","source":"MEMORY","certainty":"CERTAIN"},` +
				`{"name":"tenant","allowed":true,"policyId":"edge-default","policyRevision":3,"algorithm":"fixed-window","limit":100,"remaining":99,"retryAfterMillis":0,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"},` +
				`{"name":"user","allowed":false,"policyId":"sessions","policyRevision":3,"algorithm":"sliding-log","limit":10,"remaining":4,"retryAfterMillis":60000,"resetAt":"2026-05-23T12:01:00.000Z","source":"MEMORY","certainty":"CERTAIN"}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := newLayeredConfig(t)
			handler := newHandler(t, config)
			for range test.times - 1 {
				serve(handler, newPost(test.document))
			}
			w := serve(handler, newPost(test.document))
			if want := `{"outcome":"evaluated","decision":` + test.want + `}`; w.Code != http.StatusOK || w.Body.String() != want {
				t.Errorf("got %d\n%s\nwant 200\n%s", w.Code, w.Body, want)
			}
		})
	}
}

// Ensure that the levels reach the port as the document has them, under the root
// that it names, and that left-out members have their defaults.
func TestLayersAreRead(t *testing.T) {
	shared := strings.Replace(tenant, `"acme"`, `"acme","shared":true`, 1)
	tests := []struct{ name, document, root string }{
		{"the last level", `{"layers":[` + user + `,` + tenant + `]}`, "acme"},
		{"the last level that is not shared", `{"layers":[` + user + `,` + tenant + `,` + global + `]}`, "acme"},
		{"the last level, since all are shared", `{"layers":[` + shared + `,` + global + `]}`, "all"},
		{"a level that is named", `{"root":"user","layers":[` + user + `,` + tenant + `]}`, "alice"},
		{"a shared level that is named", `{"layers":[` + user + `,` + tenant + `,` + global + `],"root":"global"}`, "all"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newLayeredConfig(t)
			serve(newHandler(t, config), newPost(test.document))
			requests := port.Requests()
			if len(requests) != 1 || requests[0].Root() != digestOf(t, test.root) {
				t.Fatalf("got %v, want one with the root %s", requests, test.root)
			}
		})
	}

	config, port := newLayeredConfig(t)
	serve(newHandler(t, config), newPost(`{"layers":[`+user+`,{"name":"b","policyId":"login","subject":"ip:::ffff:192.0.2.1","cost":2,"limit":5,"shared":true}]}`))
	want := []ratelimit.Level{
		{Name: "user", PolicyID: "sessions", Subject: digestOf(t, "alice"), Cost: 1},
		{Name: "b", PolicyID: "login", Subject: digestOf(t, "ip:192.0.2.1"), Cost: 2, Limit: 5, Shared: true},
	}
	for i, level := range port.Requests()[0].Levels() {
		if level != want[i] {
			t.Errorf("level %d is %+v, want %+v", i, level, want[i])
		}
	}
}

// Ensure that the root's own level and shared levels spend what evaluations of
// their subjects by themselves spend, and that others do not.
func TestLayersShareCounters(t *testing.T) {
	config, _ := newLayeredConfig(t)
	handler := newHandler(t, config)
	serve(handler, newPost(`{"layers":[`+user+`,`+tenant+`,`+global+`]}`))
	for document, want := range map[string]string{
		`{"policyId":"edge-default","subject":"acme"}`: `"remaining":98,`,
		`{"policyId":"quotes","subject":"all"}`:        `"remaining":8,`,
		`{"policyId":"sessions","subject":"alice"}`:    `"remaining":9,`,
	} {
		if w := serve(handler, newPost(document)); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %s, want %s", document, w.Body, want)
		}
	}
}

// Ensure that a document with a fault in its layers is refused with all its
// faults, and that nobody is asked, so nothing is consumed.
func TestLayersRefuse(t *testing.T) {
	nine := strings.Repeat(user+",", 8) + user
	with := func(members string) string {
		return `{"layers":[` + user + `,{"name":"b","policyId":"login","subject":"b",` + members + `}]}`
	}
	two := func(first, second, rest string) string {
		return `{"layers":[{"name":"a","policyId":"login",` + first + `},{"name":"b","policyId":"login",` + second + `}]` + rest + `}`
	}
	tests := []struct {
		name, document string
		status         int
		pointers       []string
	}{
		{"null", `{"layers":null}`, 400, []string{"/layers"}},
		{"object", `{"layers":{"name":"a"}}`, 400, []string{"/layers"}},
		{"text", `{"layers":"[]"}`, 400, []string{"/layers"}},
		{"none", `{"layers":[]}`, 400, []string{"/layers"}},
		{"too many", `{"layers":[` + nine + `]}`, 400, []string{"/layers"}},
		{"given twice", `{"layers":[` + user + `],"layers":[` + user + `]}`, 400, []string{"/layers"}},
		{"broken", `{"layers":[` + user, 400, []string{""}},
		{"broken level", `{"layers":[{"name":}]}`, 400, []string{""}},
		{"deeper than can be read", `{"layers":` + strings.Repeat("[", 20_000), 400, []string{""}},
		{"trailing text", `{"layers":[` + user + `]} x`, 400, []string{""}},

		{"levels that are no objects", `{"layers":[null,[],"a",1,` + user + `]}`, 400, []string{"/layers/0", "/layers/1", "/layers/2", "/layers/3"}},
		{"empty level", `{"layers":[` + user + `,{}]}`, 400, []string{"/layers/1/name", "/layers/1/policyId", "/layers/1/subject"}},
		{"two empty levels, and no root", `{"root":"a","layers":[{},{}]}`, 400,
			[]string{"/layers/0/name", "/layers/0/policyId", "/layers/0/subject", "/layers/1/name", "/layers/1/policyId", "/layers/1/subject"}},
		{"unknown", with(`"costs":1`), 400, []string{"/layers/1/costs"}},
		{"unknown by its case", with(`"Shared":true`), 400, []string{"/layers/1/Shared"}},
		{"unknown, escaped", with(`"a/b~c":1`), 400, []string{"/layers/1/a~1b~0c"}},
		{"a document's member", with(`"deadlineMillis":1`), 400, []string{"/layers/1/deadlineMillis"}},
		{"given twice in a level", with(`"subject":"c"`), 400, []string{"/layers/1/subject"}},
		{"given twice in a level, escaped", with(`"cost":1,"\u0063ost":1`), 400, []string{"/layers/1/cost"}},
		{"everything wrong", `{"layers":[{"name":1,"policyId":{},"subject":[],"cost":"1","limit":0,"shared":0,"x":0}],"root":1,"deadlineMillis":"1"}`, 400,
			[]string{"/layers/0/name", "/layers/0/policyId", "/layers/0/subject", "/layers/0/cost", "/layers/0/limit", "/layers/0/shared", "/layers/0/x", "/root", "/deadlineMillis"}},
		{"nulls", `{"layers":[{"name":null,"policyId":null,"subject":null,"cost":null,"limit":null,"shared":null}],"root":null}`, 400,
			[]string{"/layers/0/name", "/layers/0/policyId", "/layers/0/subject", "/layers/0/cost", "/layers/0/limit", "/layers/0/shared", "/root"}},
		{"half characters", `{"layers":[{"name":"\ud800","policyId":"\udc00","subject":"\ud800"}],"root":"\ud800"}`, 400,
			[]string{"/layers/0/name", "/layers/0/policyId", "/layers/0/subject", "/root"}},
		{"empty subject", two(`"subject":""`, `"subject":"a"`, ``), 400, []string{"/layers/0/subject"}},
		{"long subject", two(`"subject":"`+strings.Repeat("x", pseudonym.MaxSubjectBytes+1)+`"`, `"subject":"a"`, ``), 400, []string{"/layers/0/subject"}},
		{"fractional cost", with(`"cost":1.5`), 400, []string{"/layers/1/cost"}},
		{"cost with an exponent", with(`"cost":1e0`), 400, []string{"/layers/1/cost"}},
		{"cost 0", with(`"cost":0`), 400, []string{"/layers/1/cost"}},
		{"negative limit", with(`"limit":-1`), 400, []string{"/layers/1/limit"}},
		{"limit with a decimal point", with(`"limit":1.0`), 400, []string{"/layers/1/limit"}},
		{"shared as text", with(`"shared":"true"`), 400, []string{"/layers/1/shared"}},
		{"shared as number", with(`"shared":1`), 400, []string{"/layers/1/shared"}},

		{"policy beside layers", `{"policyId":"login","layers":[` + user + `]}`, 400, []string{"/policyId"}},
		{"subject beside layers", `{"layers":[` + user + `],"subject":"a"}`, 400, []string{"/subject"}},
		{"all of one evaluation beside layers", `{"cost":1,"subject":"a","layers":[` + user + `],"policyId":"login"}`, 400, []string{"/policyId", "/subject", "/cost"}},
		{"beside layers that are none", `{"cost":1,"layers":0}`, 400, []string{"/layers", "/cost"}},
		{"unknown root", `{"layers":[` + user + `],"root":"tenant"}`, 400, []string{"/root"}},
		{"empty root", `{"layers":[` + user + `],"root":""}`, 400, []string{"/root"}},
		{"root by its case", `{"layers":[` + user + `],"root":"User"}`, 400, []string{"/root"}},

		{"the same name", `{"layers":[` + user + `,` + strings.Replace(tenant, "tenant", "user", 1) + `,` + global + `]}`, 400, []string{"/layers/1/name"}},
		{"the same name thrice, and no root", `{"layers":[` + user + `,` + user + `,` + user + `],"root":"x"}`, 400,
			[]string{"/root", "/layers/1/name", "/layers/1/subject", "/layers/2/name", "/layers/2/subject"}},
		{"the same counter", two(`"subject":"a"`, `"subject":"a"`, ``), 400, []string{"/layers/1/subject"}},
		{"the same counter, spelt otherwise", two(`"subject":"ip:192.0.2.1"`, `"subject":"ip:::ffff:192.0.2.1"`, ``), 400, []string{"/layers/1/subject"}},
		{"the same counter, whatever the root, and no root", two(`"subject":"a"`, `"subject":"a"`, `,"root":"x"`), 400, []string{"/root", "/layers/1/subject"}},
		{"perhaps the same counter, and no root", two(`"subject":"a"`, `"subject":"a","shared":true`, `,"root":"x"`), 400, []string{"/root"}},
		{"the same counter, of a policy that cannot be", strings.ReplaceAll(two(`"subject":"a"`, `"subject":"a"`, ``), "login", "Log In"), 400, []string{"/layers/1/subject"}},
		{"the same counter, shared", two(`"subject":"a","shared":true`, `"subject":"a","shared":true`, ``), 400, []string{"/layers/1/subject"}},
		{"the same counter, the root's and a shared one", two(`"subject":"a"`, `"subject":"a","shared":true`, ``), 400, []string{"/layers/1/subject"}},
		{"the same counter, with other numbers", two(`"subject":"a"`, `"subject":"a","cost":2,"limit":5`, ``), 400, []string{"/layers/1/subject"}},

		{"unknown policies", `{"layers":[` + strings.Replace(user, "sessions", "other", 1) + `,` + tenant + `,` + strings.Replace(global, "quotes", "", 1) + `]}`, 404,
			[]string{"/layers/0/policyId", "/layers/2/policyId"}},
		{"impossible policy, and a cost above another's", `{"layers":[` + strings.Replace(user, "sessions", "Edge Default", 1) + `,{"name":"b","policyId":"login","subject":"b","cost":11}]}`, 404,
			[]string{"/layers/0/policyId"}},

		{"cost above the maximum", with(`"cost":11`), 422, []string{"/layers/1/cost"}},
		{"cost above all", with(`"cost":99999999999999999999`), 422, []string{"/layers/1/cost"}},
		{"cost above the level's limit", with(`"limit":3,"cost":4`), 422, []string{"/layers/1/cost"}},
		{"limit above the policy's", with(`"limit":11`), 422, []string{"/layers/1/limit"}},
		{"limit above all", with(`"limit":99999999999999999999`), 422, []string{"/layers/1/limit"}},
		{"evaluation ID", `{"layers":[` + user + `],"evaluationId":"1"}`, 422, []string{"/evaluationId"}},
		{"several", two(`"subject":"a","cost":11`, `"subject":"b","limit":11`, `,"evaluationId":"1"`), 422, []string{"/layers/0/cost", "/layers/1/limit", "/evaluationId"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newLayeredConfig(t)
			one := &ratelimittest.Recorder{Next: config.Port}
			config.Port = one
			checkRefusal(t, serve(newHandler(t, config), newPost(test.document)), test.status, test.pointers)
			if len(port.Requests()) > 0 || len(one.Requests()) > 0 {
				t.Errorf("the ports were asked %v %v", port.Requests(), one.Requests())
			}
		})
	}
}

// Ensure that the names of levels have the form that the contract asks for, and
// that no name of another form reaches the port.
func TestLayersNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "a-9": true, "a" + strings.Repeat("b", 62): true,
		"": false, "A": false, "9": false, "-a": false, "a_b": false, "a b": false, "a\n": false, "ä": false, "a" + strings.Repeat("b", 63): false,
	} {
		t.Run(name, func(t *testing.T) {
			config, port := newLayeredConfig(t)
			text, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			w := serve(newHandler(t, config), newPost(`{"layers":[{"name":`+string(text)+`,"policyId":"login","subject":"a"}]}`))
			if asked := len(port.Requests()) == 1; asked != valid {
				t.Errorf("the port was asked: %t", asked)
			}
			if !valid {
				checkRefusal(t, w, http.StatusBadRequest, []string{"/layers/0/name"})
			}
		})
	}
}

// Ensure that two levels of one policy and subject are let pass where they are two
// counters.
func TestLayersWithCountersOfTheirOwn(t *testing.T) {
	for name, document := range map[string]string{
		"another policy":           `{"layers":[{"name":"a","policyId":"login","subject":"a"},{"name":"b","policyId":"quotes","subject":"a"}]}`,
		"another subject":          `{"layers":[{"name":"a","policyId":"login","subject":"a"},{"name":"b","policyId":"login","subject":"b"}]}`,
		"one is shared by roots":   `{"layers":[{"name":"a","policyId":"login","subject":"a"},{"name":"b","policyId":"login","subject":"a","shared":true},` + tenant + `]}`,
		"eight levels, one policy": `{"layers":[` + eightLevels() + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			config, port := newLayeredConfig(t)
			if w := serve(newHandler(t, config), newPost(document)); w.Code != http.StatusOK || len(port.Requests()) != 1 {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

func eightLevels() string {
	levels := make([]string, ratelimit.MaxLevels)
	for i := range levels {
		levels[i] = fmt.Sprintf(`{"name":"l%d","policyId":"login","subject":"s%d"}`, i, i)
	}
	return strings.Join(levels, ",")
}

// Ensure that a hostile document does not get an answer of any length.
func TestLayersBoundFaults(t *testing.T) {
	var members strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"x%d":0,`, i)
	}
	config, _ := newLayeredConfig(t)
	document := `{"layers":[{` + members.String() + `"name":"a","policyId":"login","subject":"a"}]}`
	if got := len(readProblem(t, serve(newHandler(t, config), newPost(document))).Errors); got != 32 {
		t.Errorf("got %d faults, want 32", got)
	}
}

// Ensure that a level is bounded by what its policy gives its subject.
func TestLayersFollowOverrides(t *testing.T) {
	tests := []struct {
		name     string
		override int64
		members  string
		status   int
		pointers []string
		want     string
	}{
		{"higher", 200, `"limit":150`, 200, nil, `"limit":150,"remaining":149,`},
		{"higher, and all of it", 200, `"cost":1`, 200, nil, `"limit":200,"remaining":199,`},
		{"above the higher", 200, `"limit":201`, 422, []string{"/layers/0/limit"}, `must be at most the policy's, 200`},
		{"lower", 5, `"limit":4`, 200, nil, `"limit":4,"remaining":3,`},
		{"above the lower", 5, `"limit":6`, 422, []string{"/layers/0/limit"}, `must be at most the policy's, 5`},
		{"cost above the lower", 5, `"cost":6`, 422, []string{"/layers/0/cost"}, `must be 1 to 5`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, port := newLayeredConfig(t)
			override(t, config, "edge-default", "acme", test.override)
			w := serve(newHandler(t, config), newPost(`{"layers":[{"name":"tenant","policyId":"edge-default","subject":"acme",`+test.members+`}]}`))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, w.Body, test.status, test.want)
			}
			if test.status != http.StatusOK {
				checkRefusal(t, w, test.status, test.pointers)
			}
			if asked := len(port.Requests()) > 0; asked != (test.status == http.StatusOK) {
				t.Errorf("the port was asked: %t", asked)
			}
		})
	}
}

// Ensure that what cannot be decided is a problem that names the policy at fault,
// if it is one's, and that no failure becomes a decision.
func TestLayersFailures(t *testing.T) {
	config, _ := newLayeredConfig(t)
	policy, _ := config.Catalog.Current().Policy("login")
	always := func(outcome ratelimit.LayeredOutcome) ratelimit.LayeredPort {
		return ratelimittest.LayeredAnswers(func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome { return outcome })
	}
	broken := problem{Outcome: "incompatible", Category: "protocol", RetryAfterMillis: new(int64(0))}
	tests := map[string]struct {
		port ratelimit.LayeredPort
		want problem
	}{
		"unavailable": {
			ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 1500*time.Microsecond),
			problem{Outcome: "unavailable", Category: "connection", RetryAfterMillis: new(int64(2))},
		},
		"unavailable by one level": {
			always(ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.ClockUnsafe, RetryAfter: time.Second}, PolicyID: "login"}),
			problem{Outcome: "unavailable", Category: "clock-unsafe", PolicyID: "login", RetryAfterMillis: new(int64(1000))},
		},
		"indeterminate": {
			ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0),
			problem{Outcome: "indeterminate", Category: "no-reply", RetryAfterMillis: new(int64(0))},
		},
		"incompatible by one level": {
			always(ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.State}, PolicyID: "login"}),
			problem{Outcome: "incompatible", Category: "state", PolicyID: "login", RetryAfterMillis: new(int64(0))},
		},
		"no layered port": {nil, problem{Outcome: "unavailable", Category: "unsupported", RetryAfterMillis: new(int64(0))}},
		"nil":             {always(nil), broken},
		"a pointer":       {always(&ratelimit.LayeredEvaluated{}), broken},
		"no levels":       {always(ratelimit.LayeredEvaluated{}), broken},
		"a level without a policy": {always(ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: []ratelimit.LevelDecision{
			{Level: "user", Decision: ratelimit.Decision{Allowed: true, Policy: policy}}, {Level: "tenant", Decision: ratelimit.Decision{Allowed: true}},
		}}}), broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, _ := newLayeredConfig(t)
			config.LayeredPort = test.port
			w := serve(newHandler(t, config), newPost(`{"layers":[`+user+`,`+tenant+`]}`))
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

// Ensure that layers which cannot be decided are checked as far as they can be.
func TestLayersAreCheckedBeforeTheyAreDeclined(t *testing.T) {
	unsupported, _ := newLayeredConfig(t)
	unsupported.LayeredPort = nil
	for name, test := range map[string]struct {
		config   evaluation.Config
		document string
		status   int
		pointers []string
	}{
		"unsupported, faulty":             {unsupported, `{"layers":[]}`, 400, []string{"/layers"}},
		"unsupported, unknown policy":     {unsupported, `{"layers":[` + strings.Replace(user, "sessions", "x", 1) + `]}`, 404, []string{"/layers/0/policyId"}},
		"unsupported, beyond":             {unsupported, `{"layers":[` + strings.Replace(user, `"alice"`, `"alice","limit":11`, 1) + `]}`, 422, []string{"/layers/0/limit"}},
		"disabled, well-formed":           {evaluation.Config{}, `{"layers":[` + strings.Replace(user, "sessions", "any", 1) + `]}`, 503, nil},
		"disabled, faulty":                {evaluation.Config{}, `{"layers":[` + user + `,` + user + `]}`, 400, []string{"/layers/1/name", "/layers/1/subject"}},
		"disabled, beyond all":            {evaluation.Config{}, `{"layers":[` + user + `,{"name":"b","policyId":"b","subject":"b","cost":1000000000000000,"limit":1000000000000000}]}`, 422, []string{"/layers/1/cost", "/layers/1/limit"}},
		"disabled, with an evaluation ID": {evaluation.Config{}, `{"layers":[` + user + `],"evaluationId":"1"}`, 422, []string{"/evaluationId"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, serve(newHandler(t, test.config), newPost(test.document)), test.status, test.pointers)
		})
	}
}

// Ensure that an evaluation of layers is bounded as one of a single policy.
func TestLayersDeadlines(t *testing.T) {
	for members, want := range map[string]time.Duration{"": time.Second, `"deadlineMillis":5,`: 5 * time.Millisecond} {
		t.Run(want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, memory := newLayeredConfig(t)
				config.Deadline = time.Second
				config.LayeredPort = layeredPortFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != want {
						t.Errorf("deadline is in %v, want %v", time.Until(deadline), want)
					}
					return memory.EvaluateLayers(ctx, request)
				})
				if w := serve(newHandler(t, config), newPost(`{`+members+`"layers":[`+user+`]}`)); w.Code != http.StatusOK {
					t.Errorf("got %d, want 200", w.Code)
				}
			})
		})
	}
}

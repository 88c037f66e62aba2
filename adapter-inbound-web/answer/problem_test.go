package answer_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/answer"
)

// Ensure that each problem has the document and header fields that testdata
// shows.
func TestProblemDocuments(t *testing.T) {
	fault := answer.DocumentError{Pointer: "/cost", Detail: "must be a whole number"}
	tests := map[string]answer.Problem{
		"bad-request":            answer.BadRequest("The document has faults.", fault),
		"unauthorized":           answer.Unauthorized("X-Api-Key", "The header must be given."),
		"not-found":              answer.NotFound("There is no such policy."),
		"method-not-allowed":     answer.MethodNotAllowed(http.MethodGet, http.MethodHead),
		"too-large":              answer.TooLarge(64 << 10),
		"unsupported-media-type": answer.UnsupportedMediaType("application/json"),
		"unprocessable":          answer.Unprocessable("It cannot be evaluated.", fault),
	}
	for name, problem := range tests {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			problem.Write(w, newRequest())
			compareGolden(t, name, dump(t, w))
		})
	}
}

// Ensure that the client's request ID names its problem if it is harmless, and
// a generated one otherwise, and that header and document agree.
func TestProblemsAreCorrelated(t *testing.T) {
	tests := []struct {
		name, given string
		kept        bool
	}{
		{"letters, digits and marks", "Az09._-", true},
		{"longest", strings.Repeat("a", 64), true},
		{"none", "", false},
		{"too long", strings.Repeat("a", 65), false},
		{"line break", "a\nlevel=ERROR", false},
		{"space", "a b", false},
		{"quote", `a"b`, false},
		{"not ASCII", "ä", false},
	}
	generated := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header["X-Request-Id"] = []string{test.given}
			w := httptest.NewRecorder()
			answer.NotFound("").Write(w, r)
			var document struct{ CorrelationID string }
			if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			got := w.Header().Get("X-Request-Id")
			if got != document.CorrelationID {
				t.Errorf("header %q and document %q differ", got, document.CorrelationID)
			}
			if test.kept && got != test.given || !test.kept && !generated.MatchString(got) {
				t.Errorf("%q became %q", test.given, got)
			}
		})
	}
}

func FuzzCorrelationID(f *testing.F) {
	f.Add("golden")
	f.Add("a\r\nSet-Cookie: b")
	safe := regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, given string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["X-Request-Id"] = []string{given}
		got := answer.CorrelationID(r)
		if !safe.MatchString(got) {
			t.Errorf("%q became %q", given, got)
		}
		if safe.MatchString(given) && got != given {
			t.Errorf("%q was replaced", given)
		}
	})
}

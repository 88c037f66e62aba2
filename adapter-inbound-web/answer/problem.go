package answer

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"example.com/weir/shared-contract/failure"
)

// Problem is a problem document (RFC 9457) and the header fields that go with
// it. Use the constructors of this package; the zero Problem has no status and
// must not be written. Details are for people and hold nothing that identifies
// a subject.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// ViolatedPolicies names the policies that refused the request.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
	// RefusedBy names the levels that refused the request, if it has levels.
	RefusedBy []string `json:"refusedBy,omitempty"`
	// Outcome and Category say which failure it was.
	Outcome  string           `json:"outcome,omitempty"`
	Category failure.Category `json:"category,omitempty"`
	PolicyID string           `json:"policyId,omitempty"`
	// RetryAfterSeconds is that of a denial: what Retry-After says.
	RetryAfterSeconds int64 `json:"retryAfterSeconds,omitempty"`
	// RetryAfterMillis is that of a failure, exact, and may be zero.
	RetryAfterMillis *int64 `json:"retryAfterMillis,omitempty"`
	// Errors are the single faults of the request's document.
	Errors []DocumentError `json:"errors,omitempty"`
	// CorrelationID is filled in when the problem is written.
	CorrelationID string `json:"correlationId"`

	field, value string // one more header field; none when field is empty
}

// DocumentError is one fault of a request's JSON document.
type DocumentError struct {
	// Pointer is the JSON Pointer (RFC 6901) of the faulty value; empty for the
	// document as a whole.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// untyped is the type of a problem that its status code describes.
const untyped = "about:blank"

func ofStatus(status int, detail string) Problem {
	return Problem{Type: untyped, Title: http.StatusText(status), Status: status, Detail: detail}
}

func (p Problem) withField(field, value string) Problem {
	p.field, p.value = field, value
	return p
}

// BadRequest says that the request cannot be understood (400).
func BadRequest(detail string, errors ...DocumentError) Problem {
	p := ofStatus(http.StatusBadRequest, detail)
	p.Errors = errors
	return p
}

// Unauthorized says that the request header field named by header is missing or
// wrong (401). HTTP has no registered scheme for such a header, so the challenge
// that a 401 must carry has one of Weir's own.
func Unauthorized(header, detail string) Problem {
	return ofStatus(http.StatusUnauthorized, detail).
		withField("Www-Authenticate", "Weir header="+strconv.Quote(header))
}

// Forbidden says that this peer gets no answer here, whatever it asks (403).
func Forbidden(detail string) Problem { return ofStatus(http.StatusForbidden, detail) }

// NotFound says that there is no such resource or policy (404).
func NotFound(detail string, errors ...DocumentError) Problem {
	p := ofStatus(http.StatusNotFound, detail)
	p.Errors = errors
	return p
}

// MethodNotAllowed says that the resource knows only the methods in allowed (405).
func MethodNotAllowed(allowed ...string) Problem {
	methods := strings.Join(allowed, ", ")
	return ofStatus(http.StatusMethodNotAllowed, "Use "+methods+".").withField("Allow", methods)
}

// TooLarge says that the request's content has more than limit bytes (413).
func TooLarge(limit int64) Problem {
	return ofStatus(http.StatusRequestEntityTooLarge, "The content may have at most "+strconv.FormatInt(limit, 10)+" bytes.")
}

// UnsupportedMediaType says that the request's content must be of the media
// type accepted, uncompressed (415).
func UnsupportedMediaType(accepted string) Problem {
	return ofStatus(http.StatusUnsupportedMediaType, "The content must be "+accepted+", without a content coding.").
		withField("Accept", accepted)
}

// Unprocessable says that the request is well-formed and asks for what cannot
// be done (422).
func Unprocessable(detail string, errors ...DocumentError) Problem {
	p := ofStatus(http.StatusUnprocessableEntity, detail)
	p.Errors = errors
	return p
}

// Write answers r with p. The response also carries the correlation ID, as
// X-Request-Id, and must not be cached.
func (p Problem) Write(w http.ResponseWriter, r *http.Request) {
	p.CorrelationID = CorrelationID(r)
	p.write(w)
}

func (p Problem) write(w http.ResponseWriter) {
	header := w.Header()
	if p.field != "" {
		header.Set(p.field, p.value)
	}
	header.Set(RequestIDField, p.CorrelationID)
	writeJSON(w, p.Status, "application/problem+json", p)
}

// Document answers with value as JSON (200), not to be cached. The value must
// be one that encoding/json can marshal.
func Document(w http.ResponseWriter, value any) {
	writeJSON(w, http.StatusOK, "application/json", value)
}

// Passes tells a proxy that the request it asked about may pass (204), not to be
// cached. The header fields of the decision are set on w already.
func Passes(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// Unready answers with value as JSON (503), not to be cached: the process works
// and should get no traffic.
func Unready(w http.ResponseWriter, value any) {
	writeJSON(w, http.StatusServiceUnavailable, "application/json", value)
}

func writeJSON(w http.ResponseWriter, status int, mediaType string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("answer: a document cannot be marshalled: " + err.Error())
	}
	header := w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone; there is nobody to tell
}

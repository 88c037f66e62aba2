package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Paths that the handler of [New] serves.
const (
	EvaluationsPath = "/v1/evaluations"
	PoliciesPath    = "/v1/policies"
)

// DefaultDeadline bounds an evaluation unless [Config] or the caller says
// otherwise.
const DefaultDeadline = edge.DefaultDeadline

// Disabled is the category of evaluations where there is no port.
const Disabled failure.Category = "disabled"

// MaxDocumentBytes bounds the content of a request.
const MaxDocumentBytes = 64 << 10

const mediaType = "application/json"

// Config is what [New] checks.
type Config struct {
	// Port decides. Nil means that distributed limiting is disabled: requests
	// are checked and then answered 503, and nothing else need be given.
	Port ratelimit.EdgePort
	// LayeredPort decides requests with layers, by the same policies. Nil means
	// that they are checked and then answered 503, as unsupported. Where Port is
	// nil it is not asked.
	LayeredPort ratelimit.LayeredPort
	// Catalog holds the policies that Port decides by.
	Catalog *ratelimit.Catalog
	// Pseudonym is the key of the subjects' digests, the same as that of the
	// edge, so that both charge the same quota.
	Pseudonym *pseudonym.Key
	// DefaultPolicy is the ID of the policy for callers that name none.
	DefaultPolicy string
	// Addressing is that of the edge too, so that an address is the same subject
	// to both.
	Addressing pseudonym.Addressing
	// Deadline bounds an evaluation for callers that name no deadline. Not
	// negative; zero means [DefaultDeadline].
	Deadline time.Duration
	// Logger gets failures. Nil means none.
	Logger *slog.Logger
}

func (c Config) check() error {
	var faults ratelimit.Faults
	if c.Deadline < 0 {
		faults.Add("deadline", "is %v, must not be negative", c.Deadline)
	}
	if err := c.Addressing.Check(); err != nil {
		faults.Add("ipv6-prefix", "%v", err)
	}
	if c.Port != nil && c.Pseudonym == nil {
		faults.Add("pseudonym", "must be given")
	}
	if c.Port != nil && c.Catalog == nil {
		faults.Add("catalog", "must be given")
	}
	if c.Port != nil && c.Catalog != nil {
		if _, known := c.Catalog.Current().Policy(c.DefaultPolicy); !known {
			faults.Add("default-policy", "there is no policy %q", c.DefaultPolicy)
		}
	}
	return faults.Err()
}

// New returns the handler of the decision API, or the [ratelimit.Faults] of
// config.
func New(config Config) (http.Handler, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if config.Deadline == 0 {
		config.Deadline = DefaultDeadline
	}
	return &handler{config: config, failures: answer.NewFailures(config.Logger)}, nil
}

type handler struct {
	config   Config
	failures *answer.Failures
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case EvaluationsPath:
		h.evaluate(w, r)
	case PoliciesPath:
		h.policies(w, r)
	default:
		answer.NotFound("There is no such resource.").Write(w, r)
	}
}

func (h *handler) evaluate(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		answer.MethodNotAllowed(http.MethodPost).Write(w, r)
		return
	}
	if !isJSON(r.Header) {
		answer.UnsupportedMediaType(mediaType).Write(w, r)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxDocumentBytes))
	if err != nil {
		unreadable(err).Write(w, r)
		return
	}
	asked, faults := readDocument(text, h.config.Addressing)
	if len(faults) > 0 {
		answer.BadRequest("The request's document has faults.", faults...).Write(w, r)
		return
	}
	switch {
	case h.config.Port == nil:
		h.disabled(w, r, asked)
	case len(asked.layers) > 0:
		h.evaluateLayers(w, r, asked)
	default:
		h.evaluateOne(w, r, asked)
	}
}

func (h *handler) evaluateOne(w http.ResponseWriter, r *http.Request, asked document) {
	policyID := h.config.DefaultPolicy
	if asked.policyID != nil {
		policyID = *asked.policyID
	}
	subject := asked.subject.Digest(h.config.Pseudonym)
	policy, known := h.config.Catalog.Current().PolicyFor(policyID, subject)
	if !known {
		answer.NotFound("There is no such policy.").Write(w, r)
		return
	}
	beyond := above("/cost", asked.cost, policy.MaxCost(), "the policy's maximum")
	if faults := unprocessable(asked, beyond); len(faults) > 0 {
		answer.Unprocessable("The request cannot be evaluated.", faults...).Write(w, r)
		return
	}
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policyID,
		Subject:  subject,
		Cost:     max(1, asked.cost),
	})
	if err != nil {
		answer.BadRequest("The request cannot be evaluated.").Write(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.deadline(asked))
	defer cancel()
	if decision, ok := h.failures.Decided(w, r, h.config.Port.Evaluate(ctx, request)); ok {
		answer.Document(w, newEvaluated(newDecision(decision)))
	}
}

func (h *handler) deadline(asked document) time.Duration {
	if asked.deadlineMillis == 0 {
		return h.config.Deadline
	}
	return time.Duration(asked.deadlineMillis) * time.Millisecond
}

// disabled answers what can be said without policies: it names none, since those
// that were asked for may be any text.
func (h *handler) disabled(w http.ResponseWriter, r *http.Request, asked document) {
	const most = "the maximum of all policies"
	beyond := above("/cost", asked.cost, ratelimit.MaxQuota, most)
	for i, layer := range asked.layers {
		beyond = append(beyond, above(layerPointer(i, "cost"), layer.cost, ratelimit.MaxQuota, most)...)
		beyond = append(beyond, above(layerPointer(i, "limit"), layer.limit, ratelimit.MaxQuota, most)...)
	}
	if faults := unprocessable(asked, beyond); len(faults) > 0 {
		answer.Unprocessable("The request cannot be evaluated.", faults...).Write(w, r)
		return
	}
	h.failures.Decided(w, r, ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: Disabled}})
}

// unprocessable lists what is well-formed and cannot be done: what is beyond a
// policy, and what no policy can do.
func unprocessable(asked document, beyond []answer.DocumentError) []answer.DocumentError {
	if asked.hasEvaluationID {
		return append(beyond, answer.DocumentError{Pointer: "/evaluationId", Detail: "is not supported"})
	}
	return beyond
}

// above lists a number that is more than most, which is described as what it is.
func above(pointer string, number, most int64, what string) []answer.DocumentError {
	if number <= most {
		return nil
	}
	return []answer.DocumentError{{Pointer: pointer, Detail: fmt.Sprintf("is above %s, %d", what, most)}}
}

func unreadable(err error) answer.Problem {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return answer.TooLarge(MaxDocumentBytes)
	}
	return answer.BadRequest("The request's content ended early.")
}

func isJSON(header http.Header) bool {
	if coding := header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return false
	}
	given, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && given == mediaType
}

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
	if asked.cost == 0 {
		asked.cost = 1
	}
	if h.config.Port == nil {
		h.disabled(w, r, asked)
		return
	}
	policyID := h.config.DefaultPolicy
	if asked.policyID != nil {
		policyID = *asked.policyID
	}
	policy, known := h.config.Catalog.Current().Policy(policyID)
	if !known {
		answer.NotFound("There is no such policy.").Write(w, r)
		return
	}
	if faults := unprocessable(asked, policy.MaxCost(), "the policy's maximum"); len(faults) > 0 {
		answer.Unprocessable("The request cannot be evaluated.", faults...).Write(w, r)
		return
	}
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: policyID,
		Subject:  asked.subject.Digest(h.config.Pseudonym),
		Cost:     asked.cost,
	})
	if err != nil {
		answer.BadRequest("The request cannot be evaluated.").Write(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.deadline(asked))
	defer cancel()
	if decision, ok := h.failures.Decided(w, r, h.config.Port.Evaluate(ctx, request)); ok {
		answer.Document(w, newEvaluated(decision))
	}
}

func (h *handler) deadline(asked document) time.Duration {
	if asked.deadlineMillis == 0 {
		return h.config.Deadline
	}
	return time.Duration(asked.deadlineMillis) * time.Millisecond
}

// disabled answers what can be said without policies: it names none, since the
// one that was asked for may be any text.
func (h *handler) disabled(w http.ResponseWriter, r *http.Request, asked document) {
	if faults := unprocessable(asked, ratelimit.MaxQuota, "the maximum of all policies"); len(faults) > 0 {
		answer.Unprocessable("The request cannot be evaluated.", faults...).Write(w, r)
		return
	}
	h.failures.Decided(w, r, ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: Disabled}})
}

// unprocessable lists what is well-formed and cannot be done. The most that may
// be spent is described as whose it is.
func unprocessable(asked document, most int64, whose string) []answer.DocumentError {
	var faults []answer.DocumentError
	if asked.cost > most {
		faults = append(faults, answer.DocumentError{
			Pointer: "/cost",
			Detail:  fmt.Sprintf("is above %s, %d", whose, most),
		})
	}
	if asked.hasEvaluationID {
		faults = append(faults, answer.DocumentError{Pointer: "/evaluationId", Detail: "is not supported"})
	}
	return faults
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

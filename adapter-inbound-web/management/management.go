package management

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/forwardauth"
	"example.com/weir/shared-contract/ratelimit"
)

// Config is what [New] checks.
type Config struct {
	// Token is what [TokenHeader] must hold: visible ASCII characters. Empty
	// means that nothing is guarded.
	Token string
	// Evaluation serves all paths under /v1/. Nil means that there are none.
	Evaluation http.Handler
	// Authorize serves [forwardauth.Path] instead of Evaluation. Nil means that
	// there is no such resource.
	Authorize http.Handler
	// Metrics serves GET and HEAD of /metrics. Nil means that there is no such
	// resource.
	Metrics http.Handler
	// Checks are what must pass for the process to be ready. None means that it
	// always is, until [Handler.Drain].
	Checks []Check
	// Logger gets each change of readiness. Nil means none.
	Logger *slog.Logger
}

func (c Config) check() error {
	var faults ratelimit.Faults
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults.Add("token", "must consist of visible ASCII characters")
	}
	names := make(map[string]bool)
	for i, check := range c.Checks {
		if check.Name == "" || names[check.Name] {
			faults.Add(fmt.Sprintf("checks[%d].name", i), "must be given, and be unique")
		}
		names[check.Name] = true
		if check.Probe == nil {
			faults.Add(fmt.Sprintf("checks[%d].probe", i), "must be given")
		}
	}
	return faults.Err()
}

// Handler serves the management listener. [New] makes one.
type Handler struct {
	token      token
	evaluation http.Handler
	authorize  http.Handler
	metrics    http.Handler
	readiness  *readiness
}

var _ http.Handler = (*Handler)(nil)

// New returns the handler, or the [ratelimit.Faults] of config.
func New(config Config) (*Handler, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Handler{
		token:      newToken(config.Token),
		evaluation: orNotFound(config.Evaluation),
		authorize:  orNotFound(config.Authorize),
		metrics:    orNotFound(config.Metrics),
		readiness:  newReadiness(config.Checks, config.Logger),
	}, nil
}

// orNotFound stands in for a handler that is nil.
func orNotFound(handler http.Handler) http.Handler {
	if handler == nil {
		return http.HandlerFunc(notFound)
	}
	return handler
}

// Drain makes /readyz answer 503 from now on, so that whoever balances load
// sends no more. It may be called more than once.
func (h *Handler) Drain() { h.readiness.drain() }

// isOpen reports whether no token guards path.
func isOpen(path string) bool {
	switch path {
	case "/livez", "/readyz", "/metrics":
		return true
	default:
		return false
	}
}

// ServeHTTP answers r.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if !isOpen(path) && !h.token.admits(r) {
		answer.Unauthorized(TokenHeader, "The request header "+TokenHeader+" must hold the management token.").Write(w, r)
		return
	}
	switch {
	case path == "/livez":
		reading(h.live).ServeHTTP(w, r)
	case path == "/readyz":
		reading(h.ready).ServeHTTP(w, r)
	case path == "/metrics":
		reading(h.metrics.ServeHTTP).ServeHTTP(w, r)
	case path == "/openapi.yaml":
		reading(describe).ServeHTTP(w, r)
	case path == forwardauth.Path:
		h.authorize.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/v1/"):
		h.evaluation.ServeHTTP(w, r)
	default:
		notFound(w, r)
	}
}

// reading serves GET and HEAD only.
type reading http.HandlerFunc

func (h reading) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		answer.MethodNotAllowed(http.MethodGet, http.MethodHead).Write(w, r)
		return
	}
	h(w, r)
}

func (h *Handler) live(w http.ResponseWriter, _ *http.Request) {
	answer.Document(w, status{Status: "alive"})
}

func (h *Handler) ready(w http.ResponseWriter, r *http.Request) {
	missing, err := h.readiness.missing(r.Context())
	if err != nil || len(missing) > 0 {
		answer.Unready(w, status{Status: "unready", Missing: missing})
		return
	}
	answer.Document(w, status{Status: "ready"})
}

// status is the document of /livez and /readyz.
type status struct {
	Status  string    `json:"status"`
	Missing []Missing `json:"missing,omitempty"`
}

func notFound(w http.ResponseWriter, r *http.Request) {
	answer.NotFound("There is no such resource.").Write(w, r)
}

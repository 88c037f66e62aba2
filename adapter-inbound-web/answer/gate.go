package answer

import (
	"log/slog"
	"net/http"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// GateConfig is what [NewGate] checks.
type GateConfig struct {
	// Catalog holds the policies whose header fields are prepared. Required.
	Catalog *ratelimit.Catalog
	// Headers chooses the header fields; empty means both families.
	Headers Headers
	// LegacyReset chooses the form of X-RateLimit-Reset; empty means delta.
	LegacyReset LegacyReset
	// DeniedStatus is the status code of a denial; empty means 429.
	DeniedStatus DeniedStatus
	// CORS says whose pages may read answers. Nil means that of no other origin.
	CORS *CORS
	// Logger gets failures, and denials at debug level. Nil means none.
	Logger *slog.Logger
}

// Gate answers requests that are themselves limited: it lets them pass with
// header fields that say how much is left, or refuses them. It is safe for
// concurrent use.
type Gate struct {
	fields   *fields
	failures *Failures
	denied   DeniedStatus
	cors     *CORS
	exposed  string // the fields that CORS exposes
	logger   *slog.Logger
}

// NewGate returns a gate, or the [ratelimit.Faults] of config.
func NewGate(config GateConfig) (*Gate, error) {
	var faults ratelimit.Faults
	if config.Catalog == nil {
		faults.Add("catalog", "must be given")
	}
	if err := config.Headers.Check(); err != nil {
		faults.Add("headers", "%v", err)
	}
	if err := config.LegacyReset.Check(); err != nil {
		faults.Add("legacy-reset", "%v", err)
	}
	if err := config.DeniedStatus.Check(); err != nil {
		faults.Add("denied-status", "%v", err)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Gate{
		fields:   &fields{headers: config.Headers, reset: config.LegacyReset, catalog: config.Catalog},
		failures: NewFailures(logger),
		denied:   config.DeniedStatus,
		cors:     config.CORS,
		exposed:  exposedFields(config.Headers),
		logger:   logger,
	}, nil
}

// Admit returns the decision in outcome and true when r may pass; the
// rate-limit header fields are then set on w and nothing is written. Otherwise
// it answers r and returns false.
func (g *Gate) Admit(w http.ResponseWriter, r *http.Request, outcome ratelimit.Outcome) (ratelimit.Decision, bool) {
	decision, ok := decisionOf(outcome)
	if !ok {
		g.cors.own(w.Header(), r, g.exposed)
		g.failures.write(w, r, outcome)
		return ratelimit.Decision{}, false
	}
	g.noteLeftOut(r, g.fields.write(w.Header(), decision))
	if decision.Allowed {
		g.cors.passing(w.Header(), r, g.exposed)
		return decision, true
	}
	g.deny(w, r, quotaExceeded(g.denied, decision.RetryAfter, decision.Policy.ID()))
	return decision, false
}

// AdmitLayers is [Gate.Admit] for several levels, which header fields and
// documents tell apart by the IDs of their policies.
func (g *Gate) AdmitLayers(w http.ResponseWriter, r *http.Request, outcome ratelimit.LayeredOutcome) (ratelimit.LayeredDecision, bool) {
	decision, ok := layeredDecisionOf(outcome)
	if !ok {
		g.cors.own(w.Header(), r, g.exposed)
		return g.failures.DecidedLayers(w, r, outcome)
	}
	g.noteLeftOut(r, g.fields.writeLayers(w.Header(), decision))
	if decision.Allowed() {
		g.cors.passing(w.Header(), r, g.exposed)
		return decision, true
	}
	g.deny(w, r, levelsExceeded(g.denied, decision))
	return decision, false
}

// noteLeftOut logs that header fields could not be written. A decision holds
// however little can be said about it.
func (g *Gate) noteLeftOut(r *http.Request, err error) {
	if err != nil {
		g.logger.LogAttrs(r.Context(), slog.LevelError, "rate-limit header fields left out", slog.Any("error", err))
	}
}

func (g *Gate) deny(w http.ResponseWriter, r *http.Request, problem Problem) {
	g.cors.own(w.Header(), r, g.exposed)
	problem.CorrelationID = CorrelationID(r)
	attributes := []slog.Attr{
		slog.String("policyId", problem.PolicyID),
		slog.String("correlationId", problem.CorrelationID),
	}
	if len(problem.RefusedBy) > 0 {
		attributes = append(attributes, slog.Any("refusedBy", problem.RefusedBy))
	}
	g.logger.LogAttrs(r.Context(), slog.LevelDebug, "request denied", attributes...)
	problem.write(w)
}

// Refuse answers r with problem, for what is wrong with r before anything could
// be decided.
func (g *Gate) Refuse(w http.ResponseWriter, r *http.Request, problem Problem) {
	g.cors.own(w.Header(), r, g.exposed)
	problem.Write(w, r)
}

// quotaExceeded is the document of a denial under policies, of which there is at
// least one.
func quotaExceeded(status DeniedStatus, retryAfter time.Duration, policies ...string) Problem {
	p := ofStatus(status.code(), "The quota is used up for now.")
	p.Type, p.Title = typeQuotaExceeded, titleQuotaExceeded
	p.PolicyID = policies[0]
	p.ViolatedPolicies = policies
	p.RetryAfterSeconds = retryAfterSeconds(retryAfter)
	return p.withField(fieldRetryAfter, retryAfterValue(retryAfter))
}

func levelsExceeded(status DeniedStatus, decision ratelimit.LayeredDecision) Problem {
	var policies []string
	for _, level := range decision.Levels {
		if !level.Allowed {
			policies = append(policies, level.Policy.ID())
		}
	}
	p := quotaExceeded(status, decision.RetryAfter(), policies...)
	p.RefusedBy = decision.RefusedBy()
	return p
}

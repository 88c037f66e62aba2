package edge

import (
	"errors"
	"net/http"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/ratelimit"
)

// New returns middleware that limits what it wraps, or the [ratelimit.Faults] of
// config, all at once, with fields such as "default-policy" and
// "routes[2].pattern". Wrapping several handlers with it shares their limits. A
// request that meets such middleware twice, of one configuration or of two, gets
// one verdict, the outer one's: what that charged is not charged again, and what
// that exempted is not charged.
func New(config Config) (func(http.Handler) http.Handler, error) {
	var faults ratelimit.Faults
	config.check(&faults)
	routes := newRoutes(config, &faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	decider, catalog, err := newDecider(config)
	if err != nil {
		return nil, err
	}
	gate, err := answer.NewGate(answer.GateConfig{
		Catalog:      catalog,
		Headers:      config.Headers,
		LegacyReset:  config.LegacyReset,
		DeniedStatus: config.DeniedStatus,
		CORS:         config.CORS,
		Logger:       config.Logger,
	})
	if err != nil {
		return nil, err
	}
	layered, err := newLayered(config, gate)
	if err != nil {
		return nil, err
	}
	extractor := config.Subject
	if extractor == nil {
		extractor = new(subject.Extractor)
	}
	l := &limiter{
		decider:         decider,
		layered:         layered,
		gate:            gate,
		routes:          routes,
		subject:         extractor,
		exemptPreflight: config.Preflight != CountPreflight,
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, next) })
	}, nil
}

// newDecider also returns the catalog of the policies that decisions name.
func newDecider(config Config) (decider, *ratelimit.Catalog, error) {
	if config.Local == nil {
		return &portDecider{port: config.Port, key: config.Pseudonym, deadline: config.deadline()}, config.Catalog, nil
	}
	local, err := newLocalDecider(config.Local, config.Pseudonym)
	if err != nil {
		return nil, nil, ratelimit.Faults{{Field: "local", Problem: err.Error()}}
	}
	snapshot, err := ratelimit.NewSnapshot(local.policy)
	if err != nil {
		return nil, nil, ratelimit.Faults{{Field: "local", Problem: err.Error()}}
	}
	return local, ratelimit.NewCatalog(snapshot), nil
}

type limiter struct {
	decider         decider
	layered         *layered // nil: no charge is layered
	gate            *answer.Gate
	routes          *routes
	subject         *subject.Extractor
	exemptPreflight bool
}

func (l *limiter) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx := r.Context()
	if isSettled(ctx) {
		next.ServeHTTP(w, r)
		return
	}
	if l.exemptPreflight && isPreflight(r) {
		next.ServeHTTP(w, r.WithContext(withoutDecision(ctx)))
		return
	}
	subjects, unidentified := l.layered.identify(r)
	charge := l.routes.find(r, unidentified)
	switch charge.kind {
	case exempt:
		next.ServeHTTP(w, r.WithContext(withoutDecision(ctx)))
		return
	case reject:
		l.gate.Refuse(w, r, answer.NotFound("No route matches this request."))
		return
	case chargeable:
	}
	if charge.layered && unidentified == nil {
		l.layered.serve(w, r, next, subjects, charge)
		return
	}
	if charge.layered && !errors.Is(unidentified, subject.ErrMissing) {
		l.gate.Refuse(w, r, subjectProblem(unidentified))
		return
	}
	who, err := l.subject.Extract(r)
	if err != nil {
		l.gate.Refuse(w, r, subjectProblem(err))
		return
	}
	if decision, ok := l.gate.Admit(w, r, l.decider.decide(ctx, who, charge)); ok {
		next.ServeHTTP(w, r.WithContext(withDecision(ctx, decision)))
	}
}

// subjectProblem leaves err out of the document: its text is for operators.
func subjectProblem(err error) answer.Problem {
	if missing, ok := errors.AsType[*subject.MissingError](err); ok {
		return answer.Unauthorized(missing.Header, "The request header "+missing.Header+" must say who is asking.")
	}
	return answer.BadRequest("The request does not say who is asking.")
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions &&
		r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

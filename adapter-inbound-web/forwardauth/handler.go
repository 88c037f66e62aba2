package forwardauth

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/subject"
)

// Path is the only one that the handler of [New] serves.
const Path = "/v1/authorize"

// deniedStatus is the query parameter that chooses the status of a denial.
const deniedStatus = "denied-status"

// New returns a handler that decides as an edge of the same config does, or the
// [ratelimit.Faults] of config. Quotas are shared with that edge as config says:
// with a local limiter, only if the pseudonym key is given; while layers are decided
// locally, only if their fallback is given. The trusted proxies who may ask are those
// of config.Subject; config.DeniedStatus does not matter.
func New(config edge.Config) (http.Handler, error) {
	asker := config.Subject
	if asker == nil {
		asker = new(subject.Extractor)
	}
	config.Subject = asker.TrustingPeers()
	if config.Layers != nil {
		layers, err := trustingPeers(*config.Layers)
		if err != nil {
			return nil, err
		}
		config.Layers = layers
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	tooMany, err := newLimited(config, answer.DeniedTooManyRequests)
	if err != nil {
		return nil, err
	}
	forbidden, err := newLimited(config, answer.DeniedForbidden)
	if err != nil {
		return nil, err
	}
	return &handler{asker: asker, tooMany: tooMany, forbidden: forbidden, logger: config.Logger}, nil
}

// trustingPeers is what layers are to a question about somebody else's request. The
// fallback is one for both edges of a handler.
func trustingPeers(layers edge.Layers) (*edge.Layers, error) {
	layers.Levels = slices.Clone(layers.Levels)
	for i := range layers.Levels {
		if level := &layers.Levels[i]; level.Subject != nil { // nil is a fault that edge.New finds
			level.Subject = level.Subject.TrustingPeers()
		}
	}
	if layers.FailureMode == edge.LocalFallback && layers.Fallback == nil {
		var err error
		if layers.Fallback, err = edge.NewFallback(); err != nil {
			return nil, err
		}
	}
	return &layers, nil
}

// newLimited is the edge of config with nothing behind it.
func newLimited(config edge.Config, denied answer.DeniedStatus) (http.Handler, error) {
	config.DeniedStatus = denied
	limit, err := edge.New(config)
	if err != nil {
		return nil, err
	}
	return limit(http.HandlerFunc(passes)), nil
}

type handler struct {
	asker     *subject.Extractor
	tooMany   http.Handler // the edge that denies with 429
	forbidden http.Handler // the same that denies with 403
	logger    *slog.Logger
	stranger  sync.Once
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.asker.TrustsPeer(r) {
		h.refuse(w, r)
		return
	}
	if r.URL.Path != Path {
		answer.NotFound("There is no such resource.").Write(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		answer.MethodNotAllowed(http.MethodGet, http.MethodHead).Write(w, r)
		return
	}
	limited, fault := h.limited(r.URL.RawQuery)
	if fault != "" {
		answer.BadRequest(fault).Write(w, r)
		return
	}
	inner, fault := described(r)
	if fault != "" {
		answer.BadRequest(fault).Write(w, r)
		return
	}
	limited.ServeHTTP(w, inner)
}

// refuse answers a stranger. A proxy that nobody named as trusted would refuse
// all that it is asked for, so an operator has to see why; once will do.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request) {
	h.stranger.Do(func() {
		h.logger.LogAttrs(r.Context(), slog.LevelWarn, "a peer that is no trusted proxy asked whether a request may pass and was refused; this is said once",
			slog.String("path", Path))
	})
	answer.Forbidden("Only trusted proxies are answered here.").Write(w, r)
}

// limited chooses the edge. Other parameters do not matter: some proxies append
// their client's.
func (h *handler) limited(query string) (limited http.Handler, fault string) {
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, "The query cannot be read."
	}
	values, given := parameters[deniedStatus]
	if !given {
		return h.tooMany, ""
	}
	if value, ok := only(values); !ok || answer.DeniedStatus(value) != answer.DeniedForbidden {
		return nil, "The parameter " + deniedStatus + " can only be " + string(answer.DeniedForbidden) + ", once."
	}
	return h.forbidden, ""
}

func passes(w http.ResponseWriter, _ *http.Request) { answer.Passes(w) }

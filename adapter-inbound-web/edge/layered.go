package edge

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// layered limits requests at several levels.
type layered struct {
	port         ratelimit.LayeredPort
	levels       []Level
	root         int // the place of the level whose subject the others belong to
	key          *pseudonym.Key
	deadline     time.Duration
	mode         FailureMode
	fallback     *fallback // nil unless the mode is LocalFallback
	degradations *degradations
	outage       outage
	gate         *answer.Gate
}

// newLayered is nil without layers.
func newLayered(config Config, gate *answer.Gate) (*layered, error) {
	if config.Layers == nil {
		return nil, nil
	}
	l := &layered{
		port:     config.Layers.Port,
		levels:   slices.Clone(config.Layers.Levels),
		root:     config.Layers.root(),
		key:      config.Pseudonym,
		deadline: config.deadline(),
		mode:     cmp.Or(config.Layers.FailureMode, FailOpen),
		gate:     gate,
	}
	var err error
	if l.degradations, err = newDegradations(config.Meter, l.mode); err != nil {
		return nil, ratelimit.Faults{{Field: "meter", Problem: err.Error()}}
	}
	if l.mode == LocalFallback {
		if l.fallback, err = newFallback(config); err != nil {
			return nil, ratelimit.Faults{{Field: "layers.fallback", Problem: err.Error()}}
		}
	}
	return l, nil
}

// identities are the subjects of the levels, in their order.
type identities [ratelimit.MaxLevels]pseudonym.Subject

// identify finds the subjects of r, of which there are none without layers. The
// errors are those of the extractors.
func (l *layered) identify(r *http.Request) (who identities, err error) {
	if l == nil {
		return who, nil
	}
	for i, level := range l.levels {
		if who[i], err = level.Subject.Extract(r); err != nil {
			return identities{}, err
		}
	}
	return who, nil
}

func (l *layered) request(who identities, c charge) (ratelimit.LayeredRequest, error) {
	levels := make([]ratelimit.Level, len(l.levels))
	for i, level := range l.levels {
		levels[i] = ratelimit.Level{
			Name:     level.Name,
			PolicyID: level.Policy,
			Subject:  who[i].Digest(l.key),
			Cost:     c.cost,
			Shared:   level.Shared,
		}
	}
	return ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: levels[l.root].Subject, Levels: levels})
}

// serve has r decided for who, and lets it pass to next or answers it.
func (l *layered) serve(w http.ResponseWriter, r *http.Request, next http.Handler, who identities, c charge) {
	ctx := r.Context()
	request, err := l.request(who, c)
	if err != nil {
		l.gate.AdmitLayers(w, r, ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.InvalidRequest}})
		return
	}
	outcome := l.evaluate(ctx, request)
	l.outage.note(outcome)
	// A client that has gone must not open the gate: it may be the reason why there
	// was no reply.
	if category, covered := l.mode.Covers(outcome); covered && !c.closed && ctx.Err() == nil {
		switch {
		case l.mode == LocalFallback:
			if local, decided := l.fallback.decide(request); decided {
				l.degrade(w, r, outcome, category)
				outcome = local
			}
		case l.outage.lasts():
			l.degrade(w, r, outcome, category)
			next.ServeHTTP(w, r.WithContext(withoutDecision(ctx)))
			return
		}
	}
	if decision, ok := l.gate.AdmitLayers(w, r, outcome); ok {
		next.ServeHTTP(w, r.WithContext(withLayeredDecision(ctx, decision)))
	}
}

func (l *layered) evaluate(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	ctx, cancel := context.WithTimeout(ctx, l.deadline)
	defer cancel()
	return answer.OnlyIfAnswering(request, l.port.EvaluateLayers(ctx, request))
}

// degrade says everywhere that r is treated by the failure mode, because failed
// came instead of a decision.
func (l *layered) degrade(w http.ResponseWriter, r *http.Request, failed ratelimit.LayeredOutcome, category failure.Category) {
	l.degradations.count(r.Context(), category)
	l.gate.Degrade(w, r, string(l.mode), failed)
}

package evaluation

import (
	"context"
	"errors"
	"net/http"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func (h *handler) evaluateLayers(w http.ResponseWriter, r *http.Request, asked document) {
	levels := h.levels(asked.layers)
	unknown, beyond := misfits(h.config.Catalog.Current(), levels)
	if len(unknown) > 0 {
		answer.NotFound("There is no such policy.", unknown...).Write(w, r)
		return
	}
	if faults := unprocessable(asked, beyond); len(faults) > 0 {
		answer.Unprocessable("The request cannot be evaluated.", faults...).Write(w, r)
		return
	}
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{
		Root:   levels[asked.root].Subject,
		Levels: levels,
	})
	if err != nil {
		answer.BadRequest("The request cannot be evaluated.").Write(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.deadline(asked))
	defer cancel()
	if decision, ok := h.failures.DecidedLayers(w, r, h.decideLayers(ctx, request)); ok {
		answer.Document(w, newEvaluated(newLayeredDecision(decision)))
	}
}

func (h *handler) decideLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	if h.config.LayeredPort == nil {
		return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Unsupported}}
	}
	return answer.OnlyIfAnswering(request, h.config.LayeredPort.EvaluateLayers(ctx, request))
}

func (h *handler) levels(layers []layer) []ratelimit.Level {
	levels := make([]ratelimit.Level, len(layers))
	for i, layer := range layers {
		levels[i] = ratelimit.Level{
			Name:     layer.name,
			PolicyID: layer.policyID,
			Subject:  layer.subject.Digest(h.config.Pseudonym),
			Cost:     layer.cost,
			Limit:    layer.limit,
			Shared:   layer.shared,
		}
	}
	return levels
}

// misfits lists which levels name a policy that is unknown, and which ask for what
// is beyond their policies.
func misfits(policies *ratelimit.Snapshot, levels []ratelimit.Level) (unknown, beyond []answer.DocumentError) {
	for i, level := range levels {
		policy, known := policies.PolicyFor(level.PolicyID, level.Subject)
		if !known {
			unknown = append(unknown, answer.DocumentError{Pointer: layerPointer(i, "policyId"), Detail: "is the ID of no policy"})
			continue
		}
		_, err := level.Effective(policy)
		faults, _ := errors.AsType[ratelimit.Faults](err)
		for _, fault := range faults {
			beyond = append(beyond, answer.DocumentError{Pointer: layerPointer(i, fault.Field), Detail: fault.Problem})
		}
	}
	return unknown, beyond
}

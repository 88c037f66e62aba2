package evaluation

import (
	"net/http"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/ratelimit"
)

// policyList is the document of [PoliciesPath]. The policies come by ascending
// ID.
type policyList struct {
	// Enabled is false where there is no port, and then there are no policies.
	Enabled  bool     `json:"enabled"`
	Policies []policy `json:"policies"`
}

type policy struct {
	ID        string              `json:"id"`
	Revision  int64               `json:"revision"`
	Algorithm ratelimit.Algorithm `json:"algorithm"`
	// Quota is the most that can be spent at once, and Window what it refers to,
	// whatever the algorithm.
	Quota        int64 `json:"quota"`
	WindowMillis int64 `json:"windowMillis"`
	MaxCost      int64 `json:"maxCost"`
	Default      bool  `json:"default"`
	Parameters   any   `json:"parameters"` // windowParameters or bucketParameters
}

// windowParameters are those of fixed windows, sliding counters and sliding logs.
type windowParameters struct {
	Limit        int64 `json:"limit"`
	WindowMillis int64 `json:"windowMillis"`
}

// bucketParameters are those of token buckets.
type bucketParameters struct {
	Capacity             int64 `json:"capacity"`
	RefillTokens         int64 `json:"refillTokens"`
	RefillIntervalMillis int64 `json:"refillIntervalMillis"`
}

func (h *handler) policies(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		answer.MethodNotAllowed(http.MethodGet, http.MethodHead).Write(w, r)
		return
	}
	list := policyList{Enabled: h.config.Port != nil, Policies: []policy{}}
	if list.Enabled {
		for _, p := range h.config.Catalog.Current().Policies() {
			list.Policies = append(list.Policies, h.policy(p))
		}
	}
	answer.Document(w, list)
}

func (h *handler) policy(p ratelimit.Policy) policy {
	return policy{
		ID:           p.ID(),
		Revision:     p.Revision(),
		Algorithm:    p.Parameters().Algorithm(),
		Quota:        p.Quota(),
		WindowMillis: answer.Milliseconds(p.Window()),
		MaxCost:      p.MaxCost(),
		Default:      p.ID() == h.config.DefaultPolicy,
		Parameters:   parameters(p.Parameters()),
	}
}

func parameters(given ratelimit.Parameters) any {
	switch p := given.(type) {
	case ratelimit.FixedWindow:
		return windowParameters{p.Limit, p.Window.Milliseconds()}
	case ratelimit.SlidingCounter:
		return windowParameters{p.Limit, p.Window.Milliseconds()}
	case ratelimit.SlidingLog:
		return windowParameters{p.Limit, p.Window.Milliseconds()}
	case ratelimit.TokenBucket:
		return bucketParameters{p.Capacity, p.RefillTokens, p.RefillInterval.Milliseconds()}
	default:
		return struct{}{} // an algorithm that came later; its quota and window say enough
	}
}

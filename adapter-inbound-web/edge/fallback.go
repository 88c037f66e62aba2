package edge

import (
	"time"

	"example.com/weir/adapter-inbound-web/internal/localport"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/ratelimit"
)

// fallbackSubjects is how many windows a [NewFallback] keeps for each counter.
const fallbackSubjects = 65_536

// NewFallback returns a limiter for [LocalFallback]. Edges that have one in common
// count together while the store is away.
func NewFallback() (*locallimit.Layers, error) { return locallimit.NewLayers(fallbackSubjects) }

// fallback decides by what this process alone has seen.
type fallback struct {
	limiter  *locallimit.Layers
	catalog  *ratelimit.Catalog
	replicas int64 // 1 or more
}

func newFallback(config Config) (*fallback, error) {
	limiter := config.Layers.Fallback
	if limiter == nil {
		var err error
		if limiter, err = NewFallback(); err != nil {
			return nil, err
		}
	}
	return &fallback{
		limiter:  limiter,
		catalog:  config.Catalog,
		replicas: max(1, int64(config.Layers.Replicas)),
	}, nil
}

// decide charges this process's shares. It returns false when they cannot bear the
// cost at all, or when the request would not be valid for the store either.
func (f *fallback) decide(request ratelimit.LayeredRequest) (ratelimit.LayeredEvaluated, bool) {
	policies := f.catalog.Current()
	decision, decided := localport.Decide(f.limiter, request, func(level ratelimit.Level) (ratelimit.Policy, bool) {
		return f.shareOf(policies, level)
	})
	return ratelimit.LayeredEvaluated{Decision: decision}, decided
}

// shareOf describes this process's share of what the policy gives the level's
// subject; false if the store would not decide by it either.
func (f *fallback) shareOf(policies *ratelimit.Snapshot, level ratelimit.Level) (ratelimit.Policy, bool) {
	policy, known := policies.PolicyFor(level.PolicyID, level.Subject)
	if !known {
		return ratelimit.Policy{}, false
	}
	policy, err := level.Effective(policy)
	if err != nil {
		return ratelimit.Policy{}, false
	}
	share := min(locallimit.MaxLimit, (policy.Quota()-1)/f.replicas+1)
	window := min(locallimit.MaxWindow, policy.Window())
	if rest := window % time.Millisecond; rest > 0 { // of a bucket that fills in no whole milliseconds
		window += time.Millisecond - rest
	}
	local, err := localport.NewPolicy(policy.ID(), policy.Revision(), share, window)
	return local, err == nil
}

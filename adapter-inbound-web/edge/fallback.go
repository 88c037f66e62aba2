package edge

import (
	"strconv"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// FallbackSubjects is how many windows a [NewFallback] keeps for each counter.
const FallbackSubjects = 65_536

// NewFallback returns a limiter for [LocalFallback]. Edges that have one in common
// count together while the store is away.
func NewFallback() (*locallimit.Layers, error) { return locallimit.NewLayers(FallbackSubjects) }

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
	levels := make([]ratelimit.LevelDecision, request.Len())
	charges := make([]locallimit.Charge, request.Len())
	for i, level := range request.Levels() {
		share, ok := f.shareOf(policies, level)
		if !ok {
			return ratelimit.LayeredEvaluated{}, false
		}
		levels[i] = ratelimit.LevelDecision{Level: level.Name, Decision: ratelimit.Decision{Policy: share}}
		charges[i] = locallimit.Charge{
			Counter: counterOf(share),
			Key:     keyOf(request.Scope(level), level.Subject),
			Limit:   int(share.Quota()),
			Window:  share.Window(),
			Cost:    int(level.Cost),
		}
	}
	results, err := f.limiter.Take(charges)
	if err != nil { // a cost above the share
		return ratelimit.LayeredEvaluated{}, false
	}
	now := time.Now().UTC()
	for i, result := range results {
		levels[i].Decision = localDecision(levels[i].Policy, result, now)
	}
	return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: levels}}, true
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
	local, err := localPolicy(policy.ID(), policy.Revision(), share, window)
	return local, err == nil
}

// counterOf tells windows of different lengths apart, too: that of a bucket
// follows its capacity, and a subject may have one of its own.
func counterOf(policy ratelimit.Policy) string {
	var buffer [128]byte
	text := append(buffer[:0], policy.ID()...)
	text = append(text, '/')
	text = strconv.AppendInt(text, policy.Revision(), 10)
	text = append(text, '/')
	text = strconv.AppendInt(text, policy.Window().Milliseconds(), 10)
	return string(text)
}

func keyOf(scope, subject pseudonym.Digest) string { return string(scope[:]) + string(subject[:]) }

package legacy

import (
	"context"
	"time"
)

// Levels of a [HierarchicalLimiter], as [ErrRateLimitExceeded] and a port name
// them.
const (
	LevelAgent  = "agent"
	LevelOrg    = "org"
	LevelGlobal = "global"
)

// GlobalKey is the key of everybody. No organisation shares a counter with it,
// since policies differ.
const GlobalKey = "global"

// HierarchicalLimiter is a [Limiter]. It is safe for concurrent use.
type HierarchicalLimiter struct {
	evaluator *evaluator
	policies  HierarchyPolicies
}

// HierarchyPolicies are the policies of a [HierarchicalLimiter], three of them, by
// their IDs.
type HierarchyPolicies struct {
	Agent, Org, Global string
}

// NewHierarchicalLimiter limits agents, organisations and everybody over a port.
// The error holds all faults, as [ratelimit.Faults].
func NewHierarchicalLimiter(config Config, policies HierarchyPolicies) (*HierarchicalLimiter, error) {
	evaluator, err := config.evaluator(
		policy{"agent-policy", policies.Agent},
		policy{"org-policy", policies.Org},
		policy{"global-policy", policies.Global},
	)
	if err != nil {
		return nil, err
	}
	return &HierarchicalLimiter{evaluator: evaluator, policies: policies}, nil
}

// LocalLimit is how many requests a subject may make in any Window.
type LocalLimit struct {
	// Limit is 1 to [locallimit.MaxLimit].
	Limit int
	// Window is [locallimit.MinWindow] to [locallimit.MaxWindow], in whole
	// milliseconds.
	Window time.Duration
}

// HierarchyLimits are the limits of a local [HierarchicalLimiter].
type HierarchyLimits struct {
	Agent, Org, Global LocalLimit
}

// NewLocalHierarchicalLimiter limits agents, organisations and everybody in this
// process alone. The error holds all faults, as [ratelimit.Faults].
func NewLocalHierarchicalLimiter(config LocalConfig, limits HierarchyLimits) (*HierarchicalLimiter, error) {
	evaluator, err := config.evaluator(
		localLevel{LevelAgent, limits.Agent.Window, limits.Agent.Limit},
		localLevel{LevelOrg, limits.Org.Window, limits.Org.Limit},
		localLevel{LevelGlobal, limits.Global.Window, limits.Global.Limit},
	)
	if err != nil {
		return nil, err
	}
	policies := HierarchyPolicies{Agent: LevelAgent, Org: LevelOrg, Global: LevelGlobal}
	return &HierarchicalLimiter{evaluator: evaluator, policies: policies}, nil
}

// Allow spends one request of the agent, of its organisation and of everybody. It
// returns true and nil if it did. The error is [ErrRateLimitExceeded] if one of
// them has nothing left; then nothing was charged.
func (l *HierarchicalLimiter) Allow(ctx context.Context, req RateLimitRequest) (bool, error) {
	decision, err := l.evaluator.evaluate(ctx,
		level{name: LevelAgent, policyID: l.policies.Agent, key: req.AgentID, keyField: "agentId"},
		level{name: LevelOrg, policyID: l.policies.Org, key: req.OrgID, keyField: "orgId"},
		level{name: LevelGlobal, policyID: l.policies.Global, key: GlobalKey, shared: true},
	)
	if err != nil {
		return false, err
	}
	if refusing := decision.RefusedBy(); len(refusing) > 0 {
		return false, ErrRateLimitExceeded{Level: refusing[0], RetryAfter: decision.RetryAfter()}
	}
	return true, nil
}

package legacy

import (
	"context"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// RateLimiter spends one request of key, if it may, and returns what is left of
// limit.
type RateLimiter interface {
	Allow(key string, limit int) (bool, int, error)
}

// DualLayerLimiter spends one request of a tenant and of one of its users, or of
// neither, and returns what is left of both limits. A refusal takes from neither.
type DualLayerLimiter interface {
	AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining int, userRemaining int, err error)
}

// Limiter spends one request of an agent, of its organisation and of everybody, or
// of none of them. It returns true and nil, or false and an error, which is
// [ErrRateLimitExceeded] if one of them has nothing left.
type Limiter interface {
	Allow(ctx context.Context, req RateLimitRequest) (bool, error)
}

// RateLimitRequest says who is asking. Everybody is implied.
type RateLimitRequest struct {
	// AgentID is the agent, within its organisation.
	AgentID string
	// OrgID is the organisation.
	OrgID string
}

var (
	_ RateLimiter      = (*KeyLimiter)(nil)
	_ RateLimiter      = (*locallimit.Limiter)(nil)
	_ DualLayerLimiter = (*DualLimiter)(nil)
	_ Limiter          = (*HierarchicalLimiter)(nil)
)

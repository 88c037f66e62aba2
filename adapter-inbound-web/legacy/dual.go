package legacy

import (
	"context"
	"time"
)

// Levels of a [DualLimiter], as a port names them.
const (
	LevelUser   = "user"
	LevelTenant = "tenant"
)

// DualLimiter is a [DualLayerLimiter]. It is safe for concurrent use.
type DualLimiter struct {
	evaluator *evaluator
	policies  DualPolicies
}

// DualPolicies are the policies of a [DualLimiter], two of them, by their IDs.
type DualPolicies struct {
	Tenant, User string
}

// NewDualLimiter limits tenants and their users over a port. The error holds all
// faults, as [ratelimit.Faults].
func NewDualLimiter(config Config, policies DualPolicies) (*DualLimiter, error) {
	evaluator, err := config.evaluator(
		policy{"tenant-policy", policies.Tenant},
		policy{"user-policy", policies.User},
	)
	if err != nil {
		return nil, err
	}
	return &DualLimiter{evaluator: evaluator, policies: policies}, nil
}

// DualWindows are the times that the limits of a local [DualLimiter] refer to:
// [locallimit.MinWindow] to [locallimit.MaxWindow], in whole milliseconds.
type DualWindows struct {
	Tenant, User time.Duration
}

// NewLocalDualLimiter limits tenants and their users in this process alone. A
// limit may be up to [locallimit.MaxLimit]. The error holds all faults, as
// [ratelimit.Faults].
func NewLocalDualLimiter(config LocalConfig, windows DualWindows) (*DualLimiter, error) {
	evaluator, err := config.evaluator(
		localLevel{LevelTenant, windows.Tenant, anyLimit},
		localLevel{LevelUser, windows.User, anyLimit},
	)
	if err != nil {
		return nil, err
	}
	return &DualLimiter{evaluator: evaluator, policies: DualPolicies{Tenant: LevelTenant, User: LevelUser}}, nil
}

// AllowDual spends one request of the tenant and of its user if both have fewer
// than their limits spent, which are 1 to what the policies give them. It returns
// whether it did, and what is left of both limits, which after a refusal is what
// was left before. With an error it returns false and zeros.
func (l *DualLimiter) AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining, userRemaining int, err error) {
	decision, err := l.evaluator.evaluate(context.Background(),
		level{
			name: LevelUser, policyID: l.policies.User,
			key: userKey, keyField: "userKey",
			limit: userLimit, limitField: "userLimit",
		},
		level{
			name: LevelTenant, policyID: l.policies.Tenant,
			key: tenantKey, keyField: "tenantKey",
			limit: tenantLimit, limitField: "tenantLimit",
		},
	)
	if err != nil {
		return false, 0, 0, err
	}
	user, tenant := decision.Levels[0], decision.Levels[1]
	return decision.Allowed(), int(tenant.Remaining), int(user.Remaining), nil
}

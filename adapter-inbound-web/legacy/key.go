package legacy

import "context"

// levelKey is the name of a KeyLimiter's only level.
const levelKey = "key"

// KeyLimiter is a [RateLimiter] over a port. It is safe for concurrent use.
type KeyLimiter struct {
	evaluator *evaluator
	policyID  string
}

// NewKeyLimiter limits each key by itself under a policy, by its ID. The error
// holds all faults, as [ratelimit.Faults].
func NewKeyLimiter(config Config, policyID string) (*KeyLimiter, error) {
	evaluator, err := config.evaluator(policy{"policy", policyID})
	if err != nil {
		return nil, err
	}
	return &KeyLimiter{evaluator: evaluator, policyID: policyID}, nil
}

// Allow spends one request of key if fewer than limit are spent, which is 1 to
// what the policy gives key. It returns whether it did, and what is left of limit.
// With an error it returns false and zero.
func (l *KeyLimiter) Allow(key string, limit int) (allowed bool, remaining int, err error) {
	decision, err := l.evaluator.evaluate(context.Background(), level{
		name: levelKey, policyID: l.policyID,
		key: key, keyField: "key",
		limit: limit, limitField: "limit",
	})
	if err != nil {
		return false, 0, err
	}
	return decision.Allowed(), int(decision.Remaining()), nil
}

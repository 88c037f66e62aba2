package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// The policies, and the highest limits that a call may give under them.
const (
	tenantPolicy    = "tenant"
	userPolicy      = "user"
	anonymousPolicy = "anonymous"

	maxTenantLimit = 1000
	maxUserLimit   = 100
	anonymousLimit = 20
)

// newMiddleware puts Weir behind the interfaces of the middleware, where its own
// limiters were before.
func newMiddleware(config legacy.Config, accounts map[string]account, logger *slog.Logger) (*RateLimitMiddleware, error) {
	dual, err := legacy.NewDualLimiter(config, legacy.DualPolicies{Tenant: tenantPolicy, User: userPolicy})
	if err != nil {
		return nil, err
	}
	single, err := legacy.NewKeyLimiter(config, anonymousPolicy)
	if err != nil {
		return nil, err
	}
	return &RateLimitMiddleware{dual: dual, single: single, accounts: accounts, logger: logger}, nil
}

// limitersOver is what all limiters over port have in common, which was made of
// store.
func limitersOver(port ratelimit.LayeredPort, store redislimit.Config) legacy.Config {
	return legacy.Config{
		Port:      port,
		Catalog:   store.Catalog,
		Pseudonym: store.Secret.SubjectKey(),
		Deadline:  store.PoolTimeout + store.CommandTimeout,
	}
}

func newStore(endpoint, secretFile string, logger *slog.Logger) (redislimit.Config, error) {
	material, err := os.ReadFile(secretFile)
	if err != nil {
		return redislimit.Config{}, fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	secret, err := pseudonym.NewSecret(material)
	if err != nil {
		return redislimit.Config{}, fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	catalog, err := newCatalog(time.Minute)
	if err != nil {
		return redislimit.Config{}, err
	}
	return redislimit.Config{
		Endpoint:       endpoint,
		CommandTimeout: 50 * time.Millisecond,
		DialTimeout:    250 * time.Millisecond,
		PoolTimeout:    50 * time.Millisecond,
		Dispatch:       redislimit.Batched,
		Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
		PoolSize:       32,
		MaxInFlight:    1024,
		Secret:         secret,
		Catalog:        catalog,
		Logger:         logger,
	}, nil
}

// newCatalog keeps the windows as the limiter before had them: sliding, and exact.
func newCatalog(window time.Duration) (*ratelimit.Catalog, error) {
	limits := map[string]int64{tenantPolicy: maxTenantLimit, userPolicy: maxUserLimit, anonymousPolicy: anonymousLimit}
	return newSlidingLogs(limits, window)
}

// newSlidingLogs has a policy with each limit, by its ID.
func newSlidingLogs(limits map[string]int64, window time.Duration) (*ratelimit.Catalog, error) {
	policies := make([]ratelimit.Policy, 0, len(limits))
	for id, limit := range limits {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
			ID:                 id,
			Revision:           1,
			Parameters:         ratelimit.SlidingLog{Limit: limit, Window: window},
			MaxCost:            1,
			CleanupGrace:       time.Minute,
			MaxClockRegression: 250 * time.Millisecond,
			FailurePolicy:      ratelimit.FailClosed,
		})
		if err != nil {
			return nil, err
		}
		policies = append(policies, policy)
	}
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		return nil, err
	}
	return ratelimit.NewCatalog(snapshot), nil
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// requestsPerMinute is what a client may do, at either kind of limit.
const requestsPerMinute = 60

// limits are who decides, and how to let go of it.
type limits struct {
	config edge.Config
	close  func() error
}

// newLimits limits through the Redis at endpoint; without an endpoint, within
// this process.
func newLimits(endpoint, secretFile string, logger *slog.Logger) (limits, error) {
	if endpoint == "" {
		return newLocalLimits(logger)
	}
	return newSharedLimits(endpoint, secretFile, logger)
}

func newLocalLimits(logger *slog.Logger) (limits, error) {
	local, err := locallimit.New(locallimit.Config{
		Limit:       requestsPerMinute,
		Window:      time.Minute,
		MaxSubjects: 10_000,
	})
	if err != nil {
		return limits{}, err
	}
	return limits{
		config: edge.Config{Local: local, Logger: logger},
		close:  func() error { return nil }, // it holds nothing but memory
	}, nil
}

func newSharedLimits(endpoint, secretFile string, logger *slog.Logger) (limits, error) {
	material, err := os.ReadFile(secretFile)
	if err != nil {
		return limits{}, fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	secret, err := pseudonym.NewSecret(material)
	if err != nil {
		return limits{}, fmt.Errorf("HMAC_SECRET_FILE: %w", err)
	}
	catalog, err := newCatalog()
	if err != nil {
		return limits{}, err
	}
	limiter, err := redislimit.New(redislimit.Config{
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
	})
	if err != nil {
		return limits{}, err
	}
	return limits{
		config: edge.Config{
			Port:          limiter,
			Catalog:       catalog,
			Pseudonym:     secret.SubjectKey(),
			DefaultPolicy: "edge-default",
			Logger:        logger,
		},
		close: func() error {
			// Evaluations are short, so what is in flight needs no more.
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return limiter.Close(ctx)
		},
	}, nil
}

func newCatalog() (*ratelimit.Catalog, error) {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:                 "edge-default",
		Revision:           1,
		Parameters:         ratelimit.FixedWindow{Limit: requestsPerMinute, Window: time.Minute},
		MaxCost:            10,
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	})
	if err != nil {
		return nil, err
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		return nil, err
	}
	return ratelimit.NewCatalog(snapshot), nil
}

package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// faultsOf are those that the edge finds in trial.
func faultsOf(trial edge.Config) ratelimit.Faults {
	if trial.Layers != nil {
		layers := *trial.Layers
		layers.Port = undecided{}
		trial.Layers = &layers
	}
	_, err := edge.New(trial)
	faults, _ := errors.AsType[ratelimit.Faults](err)
	return faults
}

// trialEdge is an edge that serves nobody.
func trialEdge(limits RateLimit) edge.Config {
	if !limits.Enabled() {
		return edge.Config{Local: trialLimiter()}
	}
	return edge.Config{
		Port:          undecided{},
		Catalog:       ratelimit.NewCatalog(limits.Policies),
		Pseudonym:     trialKey(),
		DefaultPolicy: limits.DefaultPolicy,
	}
}

// undecided stands in for a store in a trial. Nobody asks it.
type undecided struct{}

func (undecided) Evaluate(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
	return ratelimit.Unavailable{
		Unavailable: failure.Unavailable{Category: failure.ShuttingDown},
		PolicyID:    request.PolicyID(),
	}
}

func (undecided) EvaluateLayers(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.ShuttingDown}}
}

// trialLimiter is the limiter of a trial.
func trialLimiter() *locallimit.Limiter {
	limiter, err := locallimit.New(locallimit.Config{Limit: 1, Window: time.Second, MaxSubjects: 1})
	if err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
	return limiter
}

// trialKey is the key of a trial, and of subjects whose secret is at fault.
func trialKey() *pseudonym.Key {
	secret, err := pseudonym.NewSecret(make([]byte, pseudonym.MinSecretBytes))
	if err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
	return secret.SubjectKey()
}

package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const routesKey = "app.web.routes"

// routes has the edge check them, so that there is one opinion about patterns
// and their conflicts.
func (r *resolver) routes(entries []routeEntry, limits RateLimit) []edge.Route {
	routes := make([]edge.Route, len(entries))
	for i, entry := range entries {
		key := itemKey(routesKey, i)
		routes[i] = edge.Route{Pattern: entry.Pattern, Policy: entry.Policy, Exempt: entry.Exempt}
		if entry.Cost != nil {
			routes[i].Cost = *entry.Cost
		}
		if entry.Cost != nil && *entry.Cost == 0 {
			// To the edge, zero means that no cost is given.
			r.add(join(key, "cost"), "is 0, must be at least 1")
		}
	}
	r.addRouteFaults(routes, limits)
	if !limits.Enabled() {
		for i := range routes {
			r.withoutLimits(itemKey(routesKey, i), &routes[i])
		}
	}
	return routes
}

// withoutLimits drops what has no effect while each process counts by itself.
func (r *resolver) withoutLimits(key string, route *edge.Route) {
	if route.Policy != "" {
		r.warn(join(key, "policy"), "has no effect, because %s is not given", endpointKey)
		route.Policy = ""
	}
	if route.Cost != 0 {
		r.warn(join(key, "cost"), "has no effect, because %s is not given", endpointKey)
		route.Cost = 0
	}
}

func (r *resolver) addRouteFaults(routes []edge.Route, limits RateLimit) {
	if len(routes) == 0 {
		return
	}
	trial := edge.Config{Local: trialLimiter(), Routes: routes}
	if limits.Enabled() {
		trial = edge.Config{
			Port:          undecided{},
			Catalog:       ratelimit.NewCatalog(limits.Policies),
			Pseudonym:     trialKey(),
			DefaultPolicy: limits.DefaultPolicy,
			Routes:        routes,
		}
	}
	_, err := edge.New(trial)
	var faults ratelimit.Faults
	if !errors.As(err, &faults) {
		return
	}
	for _, fault := range faults {
		if strings.HasPrefix(fault.Field, "routes[") {
			r.addUnlessReported(join("app.web", fault.Field), "%s", fault.Problem)
		}
	}
}

// undecided stands in for a store while routes are checked. Nobody asks it.
type undecided struct{}

func (undecided) Evaluate(_ context.Context, request ratelimit.Request) ratelimit.Outcome {
	return ratelimit.Unavailable{
		Unavailable: failure.Unavailable{Category: failure.ShuttingDown},
		PolicyID:    request.PolicyID(),
	}
}

// trialLimiter is the limiter of an edge that serves nobody.
func trialLimiter() *locallimit.Limiter {
	limiter, err := locallimit.New(locallimit.Config{Limit: 1, Window: time.Second, MaxSubjects: 1})
	if err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
	return limiter
}

// trialKey is the key of an edge that serves nobody.
func trialKey() *pseudonym.Key {
	secret, err := pseudonym.NewSecret(make([]byte, pseudonym.MinSecretBytes))
	if err != nil {
		panic(fmt.Sprintf("config: %v", err))
	}
	return secret.SubjectKey()
}

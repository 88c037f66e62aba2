// Package web is the comparison over HTTP: servers with Weir's middleware in
// front of Weir's built-in resource, or with its decision API, each in a process
// of its own, under the load of wrk.
package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/bench/contender"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// path is one way to an answer.
type path struct {
	name string
	// script is what wrk asks; see the scripts of that name.
	script string
	// open makes the handler; the server at address is Redis.
	open func(ctx context.Context, address string) (http.Handler, error)
}

func paths() []path {
	return []path{
		{"http/no-op-port", "resource.lua", openDouble},
		{"http/local-limiter", "resource.lua", openLocal},
		{"http/redis-batched", "resource.lua", openRedis(redislimit.Batched)},
		{"http/redis-pooled", "resource.lua", openRedis(redislimit.Pooled)},
		{"http/decision-api", "evaluations.lua", openEvaluations},
	}
}

func pathNamed(name string) (path, error) {
	for _, one := range paths() {
		if one.name == name {
			return one, nil
		}
	}
	return path{}, fmt.Errorf("there is no path %q", name)
}

// Nobody is denied: all requests come from one address.
const (
	policyID = "edge-default"
	limit    = 1_000_000_000
	window   = time.Hour
)

func openDouble(context.Context, string) (http.Handler, error) {
	catalog, err := newCatalog()
	if err != nil {
		return nil, err
	}
	policy, _ := catalog.Current().Policy(policyID)
	return guard(ratelimittest.AlwaysAllows(policy), catalog)
}

func openRedis(dispatch redislimit.Dispatch) func(context.Context, string) (http.Handler, error) {
	return func(ctx context.Context, address string) (http.Handler, error) {
		catalog, err := newCatalog()
		if err != nil {
			return nil, err
		}
		limiter, err := contender.NewLimiter(ctx, address, dispatch, catalog)
		if err != nil {
			return nil, err
		}
		return guard(limiter, catalog)
	}
}

func openLocal(context.Context, string) (http.Handler, error) {
	local, err := locallimit.New(locallimit.Config{Limit: limit, Window: window, MaxSubjects: contender.Subjects})
	if err != nil {
		return nil, err
	}
	middleware, err := edge.New(edge.Config{Local: local})
	if err != nil {
		return nil, err
	}
	return middleware(gateway.Resource()), nil
}

func openEvaluations(ctx context.Context, address string) (http.Handler, error) {
	catalog, err := newCatalog()
	if err != nil {
		return nil, err
	}
	limiter, err := contender.NewLimiter(ctx, address, redislimit.Batched, catalog)
	if err != nil {
		return nil, err
	}
	secret, err := contender.Secret()
	if err != nil {
		return nil, err
	}
	return evaluation.New(evaluation.Config{
		Port:          limiter,
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: policyID,
		Deadline:      deadline,
	})
}

// deadline leaves room for the limiter's time-outs, which are long here.
const deadline = 30 * time.Second

func guard(port ratelimit.EdgePort, catalog *ratelimit.Catalog) (http.Handler, error) {
	secret, err := contender.Secret()
	if err != nil {
		return nil, err
	}
	middleware, err := edge.New(edge.Config{
		Port:          port,
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: policyID,
		Deadline:      deadline,
	})
	if err != nil {
		return nil, err
	}
	return middleware(gateway.Resource()), nil
}

func newCatalog() (*ratelimit.Catalog, error) {
	return contender.NewCatalog(contender.Policy{
		ID:         policyID,
		Parameters: ratelimit.FixedWindow{Limit: limit, Window: window},
	})
}

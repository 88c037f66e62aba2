package config

import (
	"strings"

	"example.com/weir/adapter-inbound-web/edge"
)

const routesKey = "app.web.routes"

// routes has the edge check them, so that there is one opinion about patterns
// and their conflicts.
func (r *resolver) routes(entries []routeEntry, layers *Layers, limits RateLimit) []edge.Route {
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
	r.addRouteFaults(routes, layers, limits)
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

func (r *resolver) addRouteFaults(routes []edge.Route, layers *Layers, limits RateLimit) {
	if len(routes) == 0 {
		return
	}
	trial := trialEdge(limits)
	trial.Routes = routes
	if layers != nil {
		trial.Layers = &layers.Edge
	}
	for _, fault := range faultsOf(trial) {
		if strings.HasPrefix(fault.Field, "routes[") {
			r.addUnlessReported(join("app.web", fault.Field), "%s", fault.Problem)
		}
	}
}

package edge

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"example.com/weir/shared-contract/ratelimit"
)

// routes finds the charge of a request. It is safe for concurrent use.
type routes struct {
	mux      *http.ServeMux // nil: there are no routes
	fallback charge
	// charges are the fallback and that of each route, in the order of their
	// numbers.
	charges []charge
	catalog *ratelimit.Catalog // nil: policies do not apply
	levels  []string           // the IDs of the policies of the levels
	// ranked is of the snapshot that was last seen in the catalog.
	ranked atomic.Pointer[rankings]
	// hostsMatter: some pattern names a host.
	hostsMatter bool
	// twins: there may be a path that has a route as it is and another with a
	// slash at its end, so that both have to be looked up.
	twins bool
}

// route is a handler only so that a ServeMux can hold it; it is never served.
// What else a ServeMux finds (a redirect, a 404, a 405) is no route.
type route struct {
	charge  charge
	pattern pattern
}

func (*route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// says is the charge of r; the zero charge, cheaper than all, if there is no
// route.
func (r *route) says() charge {
	if r == nil {
		return charge{}
	}
	return r.charge
}

// newRoutes adds the faults of config.Routes, each with its entry and field.
func newRoutes(config Config, faults *ratelimit.Faults) *routes {
	t := &routes{
		fallback: charge{kind: chargeable, policyID: config.DefaultPolicy, cost: 1, layered: config.Layers != nil},
		levels:   config.Layers.policies(),
	}
	if config.DefaultRoute == RejectDefault {
		t.fallback = charge{kind: reject}
	}
	t.fallback = t.numbered(t.fallback)
	if len(config.Routes) == 0 {
		return t
	}
	t.mux = http.NewServeMux()
	check := routeCheck{defaultPolicy: config.DefaultPolicy, levels: t.levels, faults: faults}
	if config.Port != nil && config.Catalog != nil {
		t.catalog = config.Catalog
		check.policies = config.Catalog.Current()
	}
	var patterns []pattern
	for i, given := range config.Routes {
		field := fmt.Sprintf("routes[%d]", i)
		entry := &route{charge: t.numbered(check.charge(field, given))}
		var err error
		if entry.pattern, err = newPattern(given.Pattern); err == nil {
			err = register(t.mux, entry.pattern, entry)
		}
		if err != nil {
			faults.Add(field+".pattern", "%v", err)
			continue
		}
		patterns = append(patterns, entry.pattern)
		t.hostsMatter = t.hostsMatter || entry.pattern.namesHost()
	}
	t.twins = haveTwins(patterns)
	t.rankings()
	return t
}

func (t *routes) numbered(c charge) charge {
	c.number = len(t.charges) + 1
	t.charges = append(t.charges, c)
	return c
}

// rankings are those of the policies in force. They are made once for each snapshot.
func (t *routes) rankings() *rankings {
	var policies *ratelimit.Snapshot
	if t.catalog != nil {
		policies = t.catalog.Current()
	}
	known := t.ranked.Load()
	if known == nil || known.policies != policies {
		known = newRankings(t.charges, policies, t.levels)
		t.ranked.Store(known)
	}
	return known
}

// haveTwins reports whether a path of some depth may match a pattern that ends
// there and, with a slash at its end, one that is open there. It may say so of
// patterns that no path matches both.
func haveTwins(patterns []pattern) bool {
	ends := make(map[int]bool)
	for _, p := range patterns {
		if !p.isOpen() {
			ends[p.depth()] = true
		}
	}
	for _, p := range patterns {
		if p.isOpen() && ends[p.depth()-1] {
			return true
		}
	}
	return false
}

// routeCheck turns configured routes into charges.
type routeCheck struct {
	policies      *ratelimit.Snapshot // nil: policies do not apply
	defaultPolicy string
	levels        []string // the IDs of the policies of the levels, if there are any
	faults        *ratelimit.Faults
}

func (c routeCheck) charge(field string, given Route) charge {
	if given.Exempt {
		if given.Policy != "" || given.Cost != 0 {
			c.faults.Add(field+".exempt", "an exempt route has neither policy nor cost")
		}
		return charge{kind: exempt, explicit: true}
	}
	result := charge{kind: chargeable, policyID: given.Policy, cost: given.Cost, explicit: true}
	if result.policyID == "" {
		result.policyID = c.defaultPolicy
		result.layered = len(c.levels) > 0
	}
	if result.cost == 0 {
		result.cost = 1
	}
	if c.policies != nil && given.Policy != "" { // a missing default policy is a fault of its own
		if _, known := c.policies.Policy(given.Policy); !known {
			c.faults.Add(field+".policy", "there is no policy %q", given.Policy)
		}
	}
	if most := c.mostOf(result); result.cost < 1 || result.cost > most {
		c.faults.Add(field+".cost", "is %d, must be 1 to %d", given.Cost, most)
	}
	return result
}

// mostOf is the most that a request may cost under every policy that it may come
// under.
func (c routeCheck) mostOf(result charge) int64 {
	most := ratelimit.MaxQuota
	if c.policies == nil {
		return most
	}
	ids := []string{result.policyID}
	if result.layered {
		ids = append(ids, c.levels...)
	}
	for _, id := range ids {
		if policy, known := c.policies.Policy(id); known {
			most = min(most, policy.MaxCost())
		}
	}
	return most
}

// find returns the charge of r. Its path may be read in several ways, and the one
// counts that is dearest to whoever asks. The error, unless it is nil, is why r lacks
// the identity of a level.
func (t *routes) find(r *http.Request, unidentified error) charge {
	if t.mux == nil {
		return t.fallback
	}
	ranking := t.rankings().of(unidentified)
	if isPlain(r, t.hostsMatter) {
		return t.ofReading(r, ranking)
	}
	var found charge
	for _, reading := range readings(r.URL) {
		found = ranking.dearer(found, t.ofReading(withPath(r, reading), ranking))
	}
	return found
}

// ofReading returns the charge of r, whose path is clean. A slash at the path's
// end is ignored: where both forms have a route of their own, the dearer counts.
func (t *routes) ofReading(r *http.Request, ranking *ranking) charge {
	matched, settled := t.match(r)
	var other *route
	path := r.URL.EscapedPath()
	if bare, slashed := strings.CutSuffix(path, "/"); slashed {
		other = t.withoutSlash(r, bare)
	} else if !settled {
		other = t.withSlash(r, path+"/")
	}
	found := ranking.dearer(matched.says(), other.says())
	if found == (charge{}) {
		return t.fallback
	}
	return found
}

// match looks r up. The lookup is settled when no route for r's path with a
// slash at its end can have been missed: ServeMux redirects to that one unless
// there is another for just r's path.
func (t *routes) match(r *http.Request) (matched *route, settled bool) {
	handler, redirect := t.mux.Handler(r)
	matched, _ = handler.(*route)
	if matched == nil {
		return nil, redirect == ""
	}
	return matched, !t.twins
}

func (t *routes) withoutSlash(r *http.Request, path string) *route {
	if path == "" {
		return nil
	}
	matched, _ := t.match(withPath(r, path))
	return matched
}

// withSlash is the route for just path. That of a subtree further up says no
// more than what path matches without its slash.
func (t *routes) withSlash(r *http.Request, path string) *route {
	matched, _ := t.match(withPath(r, path))
	if matched == nil || matched.pattern.depth() != strings.Count(path, "/") {
		return nil
	}
	return matched
}

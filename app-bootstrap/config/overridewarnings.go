package config

import (
	"net/netip"
	"slices"
	"strings"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/pseudonym"
)

// warnOfOverrides names the overrides that refuse their subject for ever, and those
// whose subject no request has. It repeats no subject. Identities are those of the
// levels in use, by their names.
func (r *resolver) warnOfOverrides(entries []overrideEntry, identities map[string]string, config Config) {
	for i, entry := range entries {
		key := itemKey(overridesKey, i)
		if entry.Limit != nil {
			r.warnOfDearRoute(join(key, "limit"), entry, config)
		}
		if level, only := onlyLevel(entry.Policy, config); only {
			r.warnOfNobody(join(key, "subject"), entry.Subject, level, identities[level], config.Web.Subject.Addressing)
		}
	}
}

// warnOfDearRoute names the dearest of the routes that cost more than the override
// allows at once.
func (r *resolver) warnOfDearRoute(key string, entry overrideEntry, config Config) {
	most, dearest := *entry.Limit, -1
	for i, route := range config.Web.Routes {
		if route.Cost > most && slices.Contains(policiesOf(route, config), entry.Policy) {
			most, dearest = route.Cost, i
		}
	}
	if dearest >= 0 {
		r.warn(key, "is below %d, the cost of %s, where its subject is refused for ever", most, itemKey(routesKey, dearest))
	}
}

// policiesOf are the IDs of the policies that requests of route, which has a cost, may
// be charged under.
func policiesOf(route edge.Route, config Config) []string {
	if route.Policy != "" {
		return []string{route.Policy}
	}
	ids := []string{config.RateLimit.DefaultPolicy}
	for _, level := range levelsOf(config) {
		ids = append(ids, level.Policy)
	}
	return ids
}

// onlyLevel is the name of the level under whose policy, and no other way, requests
// are charged.
func onlyLevel(policyID string, config Config) (name string, only bool) {
	levels := levelsOf(config)
	at := slices.IndexFunc(levels, func(level edge.Level) bool { return level.Policy == policyID })
	byRoute := slices.ContainsFunc(config.Web.Routes, func(route edge.Route) bool { return route.Policy == policyID })
	if at < 0 || byRoute || policyID == config.RateLimit.DefaultPolicy {
		return "", false
	}
	return levels[at].Name, true
}

func levelsOf(config Config) []edge.Level {
	if config.Web.Layers == nil {
		return nil
	}
	return config.Web.Layers.Edge.Levels
}

// warnOfNobody warns of a subject that the identity of a level finds in no request.
// Neither text has a fault, or nobody sees the warning.
func (r *resolver) warnOfNobody(key, text, level, identity string, addressing pseudonym.Addressing) {
	who, err := addressing.ParseSubject(text)
	if err == nil && !finds(identity, who, addressing) {
		r.warn(key, "is nobody at level %s, which has another identity, so the override holds in the decision API alone", level)
	}
}

// finds reports whether some request has who by identity.
func finds(identity string, who pseudonym.Subject, addressing pseudonym.Addressing) bool {
	if fixed, ok := strings.CutPrefix(identity, fixedIdentity); ok {
		everybody, err := addressing.ParseSubject(fixed)
		return err == nil && who == everybody
	}
	if header, ok := strings.CutPrefix(identity, headerIdentity); ok {
		somebody, err := pseudonym.Header(header, "anything")
		return err == nil && who.SameKind(somebody)
	}
	somebody, err := addressing.IP(netip.IPv4Unspecified())
	return err == nil && who.SameKind(somebody)
}

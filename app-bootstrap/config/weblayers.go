package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	webLayersKey  = "app.web.layers"
	setKey        = "app.web.layers.set"
	identitiesKey = "app.web.layers.identities"
	replicasKey   = "app.web.fallback.replicas"
)

// maxReplicas is more than one store can serve.
const maxReplicas = 10_000

// Forms of an identity, besides subject.ClientIP.
const (
	headerIdentity = "header:"
	fixedIdentity  = "fixed:"
)

// webLayers is the set that the public listener decides by; nil for none.
func (r *resolver) webLayers(web webSection, sets map[string]edge.Layers, clients subject.Config, limits RateLimit) *Layers {
	addUnlessBetween(r.collector, replicasKey, web.Fallback.Replicas, 0, maxReplicas)
	layers := r.chosenSet(web.Layers, sets, limits)
	if layers != nil {
		r.identities(web.Layers, layers, clients)
		layers.Edge.Replicas = web.Fallback.Replicas
	}
	r.warnOfUnusedReplicas(web.Fallback.Replicas, layers)
	return layers
}

// chosenSet is nil when no set is named, or none that is defined.
func (r *resolver) chosenSet(section webLayersSection, sets map[string]edge.Layers, limits RateLimit) *Layers {
	if !limits.Enabled() {
		for _, key := range r.given.under(webLayersKey) {
			r.warn(key, "has no effect, because %s is not given", endpointKey)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if name != section.Set {
			r.warn(join(layeredKey, name), "has no effect, because %s does not name it", setKey)
		}
	}
	if section.Set == "" {
		if len(section.Identities) > 0 {
			r.addUnlessReported(setKey, "must be given, because %s is", identitiesKey)
		}
		return nil
	}
	set, defined := sets[section.Set]
	if !defined {
		if r.reported(join(layeredKey, section.Set)) {
			return nil
		}
		r.addUnlessReported(setKey, "names %q, which %s does not define", section.Set, layeredKey)
		return nil
	}
	return &Layers{Set: section.Set, Edge: set}
}

// identities says where each level finds its subject.
func (r *resolver) identities(section webLayersSection, layers *Layers, clients subject.Config) {
	levels := layers.Edge.Levels
	for i, level := range levels {
		if level.Name == "" {
			continue // a fault says so already
		}
		key := join(identitiesKey, level.Name)
		text, given := section.Identities[level.Name]
		if !given {
			r.addUnlessReported(key, "must be given, because set %s has that level", layers.Set)
			continue
		}
		if extractor := r.identity(key, text, clients); extractor != nil {
			levels[i].Subject = extractor
		}
		if strings.HasPrefix(text, fixedIdentity) {
			r.refuseUnshared(key, layers, i)
		}
	}
	for name := range section.Identities {
		if !r.mayName(layers, name) {
			r.add(join(identitiesKey, name), "names no level of set %s", layers.Set)
		}
	}
}

// refuseUnshared refuses, under key, one subject for all requests at a level that is
// not shared. It could be the root, and then the other levels would be counted for
// all their roots together.
func (r *resolver) refuseUnshared(key string, layers *Layers, level int) {
	entry := itemKey(join(join(layeredKey, layers.Set), "levels"), level)
	if levels := layers.Edge.Levels; levels[level].Shared || len(levels) == 1 || r.reported(join(entry, "shared")) {
		return
	}
	r.addUnlessReported(key, "is one subject for all requests, so the level must be shared: say shared: true in %s", entry)
}

// mayName reports whether a level has name, or one whose name is at fault might.
func (r *resolver) mayName(layers *Layers, name string) bool {
	return r.reported(join(join(layeredKey, layers.Set), "levels")) ||
		slices.ContainsFunc(layers.Edge.Levels, func(level edge.Level) bool { return level.Name == "" || level.Name == name })
}

// identity is nil after a fault, which repeats no subject.
func (r *resolver) identity(key, text string, clients subject.Config) *subject.Extractor {
	if fixed, ok := strings.CutPrefix(text, fixedIdentity); ok {
		who := r.parseSubject(key, fixed, clients.Addressing)
		if who.IsZero() {
			return nil
		}
		return subject.Fixed(who)
	}
	if text != subject.ClientIP && !strings.HasPrefix(text, headerIdentity) {
		r.addUnlessReported(key, "must be %s, %s<Name> or %s<subject>", subject.ClientIP, headerIdentity, fixedIdentity)
		return nil
	}
	clients.Source, clients.Missing = text, subject.Reject
	extractor, err := subject.New(clients)
	faults, _ := errors.AsType[ratelimit.Faults](err)
	for _, fault := range faults {
		if fault.Field == "source" { // the others are those of app.web.subject
			r.add(key, "%s", fault.Problem)
		}
	}
	return extractor
}

// warnOfUnusedReplicas: nobody shares limits but the local fallback.
func (r *resolver) warnOfUnusedReplicas(replicas int, layers *Layers) {
	if replicas != 0 && (layers == nil || layers.Edge.FailureMode != edge.LocalFallback) {
		r.warn(replicasKey, "has no effect, because no set with failure-mode %s is in use", edge.LocalFallback)
	}
}

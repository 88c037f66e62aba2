package config

import (
	"maps"
	"slices"
	"strings"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/ratelimit"
)

const layeredKey = "app.rate-limit.layered"

// levelSets checks the sets, whether they are in use or not, and returns them by
// their names. It has the edge check them, so that there is one opinion about
// levels.
func (r *resolver) levelSets(entries map[string]levelSetEntry, limits RateLimit) map[string]edge.Layers {
	if !limits.Enabled() {
		return nil
	}
	sets := make(map[string]edge.Layers, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		section := join(layeredKey, name)
		if err := ratelimit.CheckIdentifier(name); err != nil {
			r.add(section, "is no name for a set of levels, %v", err)
		}
		set := r.levelSet(section, entries[name])
		trial := trialEdge(limits)
		trial.Layers = &set
		for _, fault := range faultsOf(trial) {
			if field, ofSet := strings.CutPrefix(fault.Field, "layers."); ofSet {
				r.addUnlessReported(join(section, field), "%s", fault.Problem)
			}
		}
		sets[name] = set
	}
	return sets
}

// levelSet is the set of one entry. Its levels find the same subject everywhere
// until somebody says how each finds its own.
func (r *resolver) levelSet(section string, entry levelSetEntry) edge.Layers {
	set := edge.Layers{FailureMode: edge.FailOpen, Root: entry.Root}
	if entry.FailureMode != nil {
		set.FailureMode = edge.FailureMode(*entry.FailureMode)
		r.addUnlessOneOf(join(section, "failure-mode"), *entry.FailureMode,
			string(edge.FailOpen), string(edge.FailClosed), string(edge.LocalFallback))
	}
	for i, level := range entry.Levels {
		fields := entryFields{resolver: r, section: itemKey(join(section, "levels"), i)}
		set.Levels = append(set.Levels, edge.Level{
			Name:    fields.text("name", level.Name),
			Policy:  fields.text("policy", level.Policy),
			Shared:  level.Shared,
			Subject: new(subject.Extractor),
		})
	}
	return set
}

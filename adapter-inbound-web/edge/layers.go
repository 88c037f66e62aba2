package edge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Layers are limits that stand in for the default policy where a request has the
// identities of all their levels: it is charged its cost at every level or at
// none. A request that lacks one is charged under the default policy alone.
type Layers struct {
	// Port decides them. Required.
	Port ratelimit.LayeredPort
	// Levels are 1 to [ratelimit.MaxLevels], the most specific first, each with a
	// name and a policy of its own.
	Levels []Level
	// Root is the name of the level whose subject the others belong to. Empty
	// means that of [ratelimit.DefaultRoot].
	Root string
	// FailureMode says what becomes of requests that cannot be decided.
	FailureMode FailureMode
	// Replicas is how many processes share the limits while [LocalFallback]
	// decides: each enforces its share, rounded up. Not negative; zero means that
	// each enforces the whole limits.
	Replicas int
	// Fallback decides for [LocalFallback]. Nil means one of this edge alone, by
	// [NewFallback].
	Fallback *locallimit.Layers
}

// Level is one level of [Layers].
type Level struct {
	// Name is that of [ratelimit.Level].
	Name string
	// Policy is the ID of the policy.
	Policy string
	// Shared levels are one counter for all roots.
	Shared bool
	// Subject finds the level's subject in a request, [subject.Fixed] the same one
	// in all. Required.
	Subject *subject.Extractor
}

// policies are the IDs of the levels' policies; none of no layers.
func (l *Layers) policies() []string {
	if l == nil {
		return nil
	}
	ids := make([]string, len(l.Levels))
	for i, level := range l.Levels {
		ids[i] = level.Policy
	}
	return ids
}

// root is the place of the level whose subject the others belong to.
func (l *Layers) root() int {
	if l.Root != "" {
		return slices.IndexFunc(l.Levels, func(level Level) bool { return level.Name == l.Root })
	}
	levels := make([]ratelimit.Level, len(l.Levels))
	for i, level := range l.Levels {
		levels[i].Shared = level.Shared
	}
	return ratelimit.DefaultRoot(levels)
}

// check adds the faults of l. Without policies those of policies are left out.
func (l *Layers) check(faults *ratelimit.Faults, policies *ratelimit.Snapshot) {
	if l.Port == nil {
		faults.Add("layers.port", "must be given")
	}
	l.checkNames(faults)
	for i, level := range l.Levels {
		field := fmt.Sprintf("layers.levels[%d]", i)
		if policies != nil {
			if _, known := policies.Policy(level.Policy); !known {
				faults.Add(field+".policy", "there is no policy %q", level.Policy)
			}
		}
		for _, earlier := range l.Levels[:i] {
			if earlier.Policy == level.Policy {
				faults.Add(field+".policy", "is that of level %s already", earlier.Name)
			}
		}
		if level.Subject == nil {
			faults.Add(field+".subject", "must be given")
		}
	}
	if l.Root != "" && l.root() < 0 {
		faults.Add("layers.root", "there is no level %q", l.Root)
	}
	if err := l.FailureMode.Check(); err != nil {
		faults.Add("layers.failure-mode", "%v", err)
	}
	if l.Replicas < 0 {
		faults.Add("layers.replicas", "is %d, must not be negative", l.Replicas)
	}
}

// checkNames adds what the contract finds wrong with the number of levels and with
// their names in any request.
func (l *Layers) checkNames(faults *ratelimit.Faults) {
	anybody := pseudonym.Digest{1}
	levels := make([]ratelimit.Level, len(l.Levels))
	for i, level := range l.Levels {
		levels[i] = ratelimit.Level{Name: level.Name, PolicyID: level.Policy, Subject: anybody, Cost: 1}
	}
	_, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: anybody, Levels: levels})
	problems, _ := errors.AsType[ratelimit.Faults](err)
	for _, problem := range problems {
		if problem.Field == "levels" || strings.HasSuffix(problem.Field, ".name") {
			faults.Add("layers."+problem.Field, "%s", problem.Problem)
		}
	}
}

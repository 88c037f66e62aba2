package config

import (
	"errors"
	"maps"
	"slices"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// policies builds the policies. For one that has faults a stand-in is returned,
// so that who refers to it is not at fault too.
func (r *resolver) policies(entries map[string]policyEntry) *ratelimit.Snapshot {
	built := make([]ratelimit.Policy, 0, len(entries))
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		policy, err := r.policy(id, entries[id])
		if err != nil {
			policy, err = standIn(id)
		}
		if err == nil {
			built = append(built, policy)
		}
	}
	snapshot, err := ratelimit.NewSnapshot(built...)
	if err != nil {
		r.add(policiesKey, "%v", err)
		return new(ratelimit.Snapshot)
	}
	return snapshot
}

func standIn(id string) (ratelimit.Policy, error) {
	return ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: ratelimit.MaxQuota, Window: time.Second},
		MaxCost:       ratelimit.MaxQuota,
		FailurePolicy: ratelimit.FailClosed,
	})
}

var errFaulty = errors.New("the policy has faults")

// policy builds the policy of one entry and reports every fault of it: keys
// that lack or do not belong to its algorithm, and then those of its values
// that were given.
func (r *resolver) policy(id string, entry policyEntry) (ratelimit.Policy, error) {
	section := join(policiesKey, id)
	before := len(r.faults)
	fields := entryFields{resolver: r, section: section}
	spec := ratelimit.PolicySpec{
		ID:                 id,
		Revision:           required(fields, "revision", entry.Revision),
		Parameters:         fields.parameters(entry),
		CleanupGrace:       required(fields, "cleanup-grace", entry.CleanupGrace),
		MaxClockRegression: required(fields, "max-clock-regression", entry.MaxClockRegression),
		MaxCost:            required(fields, "max-cost", entry.MaxCost),
		FailurePolicy:      ratelimit.FailClosed,
	}
	policy, err := ratelimit.NewPolicy(spec)
	r.addPolicyFaults(section, err)
	if err != nil || len(r.faults) > before {
		return ratelimit.Policy{}, errFaulty
	}
	return policy, nil
}

// addPolicyFaults gives the ID, which is no key of the entry but its name, the
// key of the entry itself.
func (r *resolver) addPolicyFaults(section string, err error) {
	var faults ratelimit.Faults
	if !errors.As(err, &faults) {
		return
	}
	for _, fault := range faults {
		if fault.Field == "id" {
			r.add(section, "is no name for a policy, %s", fault.Problem)
			continue
		}
		r.addUnlessReported(join(section, fault.Field), "%s", fault.Problem)
	}
}

// entryFields reads the keys of one policy.
type entryFields struct {
	*resolver
	section string
}

// required is what value points to. A missing value is a fault; it counts as
// zero from then on, and what the checks say about that zero is not reported.
func required[T any](f entryFields, name string, value *T) T {
	if value == nil {
		f.addUnlessReported(join(f.section, name), "must be given")
		return *new(T)
	}
	return *value
}

func foreign[T any](f entryFields, name string, value *T, algorithm ratelimit.Algorithm) {
	if value != nil {
		f.add(join(f.section, name), "does not belong to algorithm %s", algorithm)
	}
}

// parameters is nil when the algorithm is missing or unknown.
func (f entryFields) parameters(entry policyEntry) ratelimit.Parameters {
	if entry.Algorithm == nil {
		f.addUnlessReported(join(f.section, "algorithm"), "must be given")
		return nil
	}
	switch algorithm := ratelimit.Algorithm(*entry.Algorithm); algorithm {
	case ratelimit.FixedWindowAlgorithm:
		f.refuseBucketKeys(entry, algorithm)
		limit, window := f.windowKeys(entry)
		return ratelimit.FixedWindow{Limit: limit, Window: window}
	case ratelimit.SlidingCounterAlgorithm:
		f.refuseBucketKeys(entry, algorithm)
		limit, window := f.windowKeys(entry)
		return ratelimit.SlidingCounter{Limit: limit, Window: window}
	case ratelimit.SlidingLogAlgorithm:
		f.refuseBucketKeys(entry, algorithm)
		limit, window := f.windowKeys(entry)
		return ratelimit.SlidingLog{Limit: limit, Window: window}
	case ratelimit.TokenBucketAlgorithm:
		foreign(f, "limit", entry.Limit, algorithm)
		foreign(f, "window", entry.Window, algorithm)
		return ratelimit.TokenBucket{
			Capacity:       required(f, "capacity", entry.Capacity),
			RefillTokens:   required(f, "refill-tokens", entry.RefillTokens),
			RefillInterval: required(f, "refill-interval", entry.RefillInterval),
		}
	default:
		f.addUnlessOneOf(join(f.section, "algorithm"), string(algorithm),
			string(ratelimit.FixedWindowAlgorithm), string(ratelimit.SlidingCounterAlgorithm),
			string(ratelimit.SlidingLogAlgorithm), string(ratelimit.TokenBucketAlgorithm))
		return nil
	}
}

func (f entryFields) windowKeys(entry policyEntry) (limit int64, window time.Duration) {
	return required(f, "limit", entry.Limit), required(f, "window", entry.Window)
}

func (f entryFields) refuseBucketKeys(entry policyEntry, algorithm ratelimit.Algorithm) {
	foreign(f, "capacity", entry.Capacity, algorithm)
	foreign(f, "refill-tokens", entry.RefillTokens, algorithm)
	foreign(f, "refill-interval", entry.RefillInterval, algorithm)
}

package legacy

import (
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// DefaultDeadline bounds an evaluation unless [Config] says otherwise. It is the
// edge's.
const DefaultDeadline = edge.DefaultDeadline

// Config is what all limiters over a port have in common.
type Config struct {
	// Port decides. Required. Who made it closes it.
	Port ratelimit.LayeredPort
	// Catalog holds the policies that Port decides by. Required.
	Catalog *ratelimit.Catalog
	// Pseudonym is the key of the subjects' digests: [pseudonym.Secret.SubjectKey].
	// Required.
	Pseudonym *pseudonym.Key
	// Addressing says what is one client by its network address. It is that of all
	// others that ask Port.
	Addressing pseudonym.Addressing
	// Deadline bounds an evaluation, for the older interfaces mostly have no
	// context. Over Redis choose no less than pool timeout plus command timeout. Not
	// negative; zero means [DefaultDeadline].
	Deadline time.Duration
}

// policy is a policy that a limiter needs, with the name of its field.
type policy struct {
	field string
	id    string
}

// evaluator returns one that decides by policies, which must differ from each
// other, or the faults of all of them and of c.
func (c Config) evaluator(policies ...policy) (*evaluator, error) {
	var faults ratelimit.Faults
	if c.Port == nil {
		faults.Add("port", "must be given")
	}
	if c.Catalog == nil {
		faults.Add("catalog", "must be given")
	}
	checkPseudonyms(c.Pseudonym, c.Addressing, &faults)
	if c.Deadline < 0 {
		faults.Add("deadline", "is %v, must not be negative", c.Deadline)
	}
	for i, p := range policies {
		if c.Catalog != nil && !c.has(p.id) {
			faults.Add(p.field, "there is no policy %q", p.id)
		}
		for _, earlier := range policies[:i] {
			if earlier.id == p.id {
				faults.Add(p.field, "is %q, must be another than %s", p.id, earlier.field)
			}
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &evaluator{
		port:       c.Port,
		key:        c.Pseudonym,
		addressing: c.Addressing,
		deadline:   c.deadline(),
		most:       c.most,
		source:     "the policy's, ",
	}, nil
}

func (c Config) has(policyID string) bool {
	_, known := c.Catalog.Current().Policy(policyID)
	return known
}

func (c Config) deadline() time.Duration {
	if c.Deadline == 0 {
		return DefaultDeadline
	}
	return c.Deadline
}

// most is the quota of the level's policy. Of a policy that is gone the port says
// so.
func (c Config) most(level ratelimit.Level) int64 {
	policy, known := c.Catalog.Current().PolicyFor(level.PolicyID, level.Subject)
	if !known {
		return ratelimit.MaxQuota
	}
	return policy.Quota()
}

func checkPseudonyms(key *pseudonym.Key, addressing pseudonym.Addressing, faults *ratelimit.Faults) {
	if key == nil {
		faults.Add("pseudonym", "must be given")
	}
	if err := addressing.Check(); err != nil {
		faults.Add("addressing", "%v", err)
	}
}

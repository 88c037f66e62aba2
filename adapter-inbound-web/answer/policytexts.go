package answer

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"

	"example.com/weir/shared-contract/ratelimit"
)

// policyTexts are the parts of header fields that a policy alone determines.
type policyTexts struct {
	policy ratelimit.Policy
	member string // of RateLimit-Policy
	name   string // the policy's name as a quoted structured-field string
	quota  string
}

func renderPolicy(policy ratelimit.Policy) (policyTexts, error) {
	item := httpsfv.NewItem(policy.ID())
	item.Params.Add("q", policy.Quota())
	if window := policy.Window(); window%time.Second == 0 {
		item.Params.Add("w", int64(window/time.Second))
	}
	member, err := httpsfv.Marshal(httpsfv.List{item})
	if err != nil {
		return policyTexts{}, fmt.Errorf("policy %s as a structured field: %w", policy.ID(), err)
	}
	name, err := httpsfv.Marshal(httpsfv.NewItem(policy.ID()))
	if err != nil {
		return policyTexts{}, fmt.Errorf("policy name %s as a structured field: %w", policy.ID(), err)
	}
	return policyTexts{
		policy: policy,
		member: member,
		name:   name,
		quota:  strconv.FormatInt(policy.Quota(), 10),
	}, nil
}

// snapshotTexts are the texts of the policies of one snapshot.
type snapshotTexts struct {
	snapshot *ratelimit.Snapshot
	byID     map[string]policyTexts
}

func renderSnapshot(snapshot *ratelimit.Snapshot) (*snapshotTexts, error) {
	policies := snapshot.Policies()
	s := &snapshotTexts{snapshot: snapshot, byID: make(map[string]policyTexts, len(policies))}
	for _, policy := range policies {
		texts, err := renderPolicy(policy)
		if err != nil {
			return nil, err
		}
		s.byID[policy.ID()] = texts
	}
	return s, nil
}

// maxVariants bounds the memory of a [variantTexts] to some hundred KiB.
const maxVariants = 1024

// variantTexts are the texts of policies that are not as the catalog has them,
// such as those with a quota of a single subject. Quotas can be many, so from time
// to time all are forgotten. It is safe for concurrent use; the zero variantTexts
// holds none.
type variantTexts struct {
	mu       sync.RWMutex
	byPolicy map[ratelimit.Policy]policyTexts
}

// of finds the texts of policy, or renders them.
func (v *variantTexts) of(policy ratelimit.Policy) (policyTexts, error) {
	v.mu.RLock()
	texts, known := v.byPolicy[policy]
	v.mu.RUnlock()
	if known {
		return texts, nil
	}
	texts, err := renderPolicy(policy)
	if err != nil {
		return policyTexts{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byPolicy == nil || len(v.byPolicy) >= maxVariants {
		v.byPolicy = make(map[ratelimit.Policy]policyTexts)
	}
	v.byPolicy[policy] = texts
	return texts, nil
}

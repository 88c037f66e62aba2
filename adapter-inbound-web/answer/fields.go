package answer

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dunglas/httpsfv"

	"example.com/weir/shared-contract/ratelimit"
)

// Header fields in the canonical form of net/http, so that they can be stored
// without being canonicalised again for each response.
const (
	fieldPolicy          = "Ratelimit-Policy"
	fieldLimit           = "Ratelimit"
	fieldLegacyLimit     = "X-Ratelimit-Limit"
	fieldLegacyRemaining = "X-Ratelimit-Remaining"
	fieldLegacyReset     = "X-Ratelimit-Reset"
)

// fields writes the rate-limit header fields of decisions. What is constant for
// a policy is rendered once per catalog snapshot.
type fields struct {
	headers Headers
	reset   LegacyReset
	catalog *ratelimit.Catalog
	texts   atomic.Pointer[snapshotTexts]
}

// snapshotTexts are the texts of the policies of one snapshot.
type snapshotTexts struct {
	snapshot *ratelimit.Snapshot
	byID     map[string]policyTexts
}

// policyTexts are the parts of header fields that a policy alone determines.
type policyTexts struct {
	policy ratelimit.Policy
	field  string // RateLimit-Policy, whole
	name   string // the policy's name as a quoted structured-field string
	quota  string
}

func renderPolicy(policy ratelimit.Policy) (policyTexts, error) {
	item := httpsfv.NewItem(policy.ID())
	item.Params.Add("q", policy.Quota())
	if window := policy.Window(); window%time.Second == 0 {
		item.Params.Add("w", int64(window/time.Second))
	}
	field, err := httpsfv.Marshal(httpsfv.List{item})
	if err != nil {
		return policyTexts{}, fmt.Errorf("policy %s as a structured field: %w", policy.ID(), err)
	}
	name, err := httpsfv.Marshal(httpsfv.NewItem(policy.ID()))
	if err != nil {
		return policyTexts{}, fmt.Errorf("policy name %s as a structured field: %w", policy.ID(), err)
	}
	return policyTexts{
		policy: policy,
		field:  field,
		name:   name,
		quota:  strconv.FormatInt(policy.Quota(), 10),
	}, nil
}

// textsOf finds the texts of policy, or renders them when policy is not, or no
// longer, in the catalog as it stands.
func (f *fields) textsOf(policy ratelimit.Policy) (policyTexts, error) {
	snapshot := f.catalog.Current()
	known := f.texts.Load()
	if known == nil || known.snapshot != snapshot {
		var err error
		if known, err = renderSnapshot(snapshot); err != nil {
			return policyTexts{}, err
		}
		f.texts.Store(known)
	}
	if texts, ok := known.byID[policy.ID()]; ok && texts.policy == policy {
		return texts, nil
	}
	return renderPolicy(policy)
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

// write sets the fields of decision and replaces those that are there.
func (f *fields) write(header http.Header, decision ratelimit.Decision) error {
	texts, err := f.textsOf(decision.Policy)
	if err != nil {
		return err
	}
	wait := decision.ResetAfter
	if !decision.Allowed {
		wait = decision.RetryAfter
	}
	remaining := max(0, decision.Remaining)

	// One array backs the values of all fields of a response.
	values := make([]string, 0, 5)
	set := func(field, value string) {
		values = append(values, value)
		header[field] = values[len(values)-1 : len(values) : len(values)]
	}
	if f.headers.ietf() {
		set(fieldPolicy, texts.field)
		set(fieldLimit, limitField(texts.name, remaining, seconds(wait)))
	}
	if f.headers.legacy() {
		limit := texts.quota
		if decision.Limit != texts.policy.Quota() {
			limit = strconv.FormatInt(decision.Limit, 10)
		}
		set(fieldLegacyLimit, limit)
		set(fieldLegacyRemaining, strconv.FormatInt(remaining, 10))
		set(fieldLegacyReset, strconv.FormatInt(f.legacyReset(decision, wait), 10))
	}
	return nil
}

// limitField is the RateLimit field: a quoted policy name that is followed by
// integers only, so appending them is all the marshalling there is.
func limitField(name string, remaining, seconds int64) string {
	var buffer [128]byte
	text := append(buffer[:0], name...)
	text = append(text, ";r="...)
	text = strconv.AppendInt(text, remaining, 10)
	text = append(text, ";t="...)
	text = strconv.AppendInt(text, seconds, 10)
	return string(text)
}

func (f *fields) legacyReset(decision ratelimit.Decision, wait time.Duration) int64 {
	if f.reset != EpochReset {
		return seconds(wait)
	}
	// ResetAt less ResetAfter is the store's clock, so both forms name the same
	// moment on a denial as well.
	at := decision.ResetAt.Add(wait - decision.ResetAfter)
	if at.Nanosecond() > 0 {
		return at.Unix() + 1
	}
	return at.Unix()
}

// seconds rounds d up to whole seconds, so that who waits for them has waited
// long enough. Negative durations count as none.
func seconds(d time.Duration) int64 { return ceil(d, time.Second) }

// Milliseconds rounds d up to whole milliseconds, so that who waits for them has
// waited long enough. Negative durations count as none.
func Milliseconds(d time.Duration) int64 { return ceil(d, time.Millisecond) }

func ceil(d, unit time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	if d%unit > 0 {
		return int64(d/unit) + 1
	}
	return int64(d / unit)
}

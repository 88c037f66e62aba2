package answer

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

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
	headers  Headers
	reset    LegacyReset
	catalog  *ratelimit.Catalog
	texts    atomic.Pointer[snapshotTexts]
	variants variantTexts
}

// textsOf finds the texts of policy, which need not be, or no longer, in the
// catalog as it stands.
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
	return f.variants.of(policy)
}

// fieldSetter sets header fields and replaces those that are there. One array
// backs the values of all fields of a response.
type fieldSetter struct {
	header http.Header
	values []string
}

func newFieldSetter(header http.Header) fieldSetter {
	return fieldSetter{header: header, values: make([]string, 0, 5)}
}

func (s *fieldSetter) set(field, value string) {
	s.values = append(s.values, value)
	s.header[field] = s.values[len(s.values)-1 : len(s.values) : len(s.values)]
}

// write sets the fields of decision.
func (f *fields) write(header http.Header, decision ratelimit.Decision) error {
	texts, err := f.textsOf(decision.Policy)
	if err != nil {
		return err
	}
	setter := newFieldSetter(header)
	if f.headers.ietf() {
		var buffer [128]byte
		setter.set(fieldPolicy, texts.member)
		setter.set(fieldLimit, string(appendLimit(buffer[:0], texts.name, decision)))
	}
	if f.headers.legacy() {
		f.setLegacy(&setter, texts, decision)
	}
	return nil
}

// writeLayers sets the fields of decision: those of the IETF list every level, in
// their order, and the others show the [Tightest].
func (f *fields) writeLayers(header http.Header, decision ratelimit.LayeredDecision) error {
	setter := newFieldSetter(header)
	if f.headers.ietf() {
		var policyBuffer, limitBuffer [256]byte
		policies, limits := policyBuffer[:0], limitBuffer[:0]
		for i, level := range decision.Levels {
			texts, err := f.textsOf(level.Policy)
			if err != nil {
				return err
			}
			if i > 0 {
				policies, limits = append(policies, ", "...), append(limits, ", "...)
			}
			policies = append(policies, texts.member...)
			limits = appendLimit(limits, texts.name, level.Decision)
		}
		setter.set(fieldPolicy, string(policies))
		setter.set(fieldLimit, string(limits))
	}
	if f.headers.legacy() {
		tightest := Tightest(decision).Decision
		texts, err := f.textsOf(tightest.Policy)
		if err != nil {
			return err
		}
		f.setLegacy(&setter, texts, tightest)
	}
	return nil
}

// appendLimit appends a member of the RateLimit field: a quoted policy name that
// is followed by integers only, so appending them is all the marshalling there is.
func appendLimit(text []byte, name string, decision ratelimit.Decision) []byte {
	text = append(text, name...)
	text = append(text, ";r="...)
	text = strconv.AppendInt(text, remaining(decision), 10)
	text = append(text, ";t="...)
	return strconv.AppendInt(text, seconds(wait(decision)), 10)
}

func (f *fields) setLegacy(setter *fieldSetter, texts policyTexts, decision ratelimit.Decision) {
	limit := texts.quota
	if decision.Limit != texts.policy.Quota() {
		limit = strconv.FormatInt(decision.Limit, 10)
	}
	setter.set(fieldLegacyLimit, limit)
	setter.set(fieldLegacyRemaining, strconv.FormatInt(remaining(decision), 10))
	setter.set(fieldLegacyReset, strconv.FormatInt(f.legacyReset(decision), 10))
}

func (f *fields) legacyReset(decision ratelimit.Decision) int64 {
	wait := wait(decision)
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

func remaining(decision ratelimit.Decision) int64 { return max(0, decision.Remaining) }

// wait is what a client has to wait for: the next admission after a denial, and
// the whole quota otherwise.
func wait(decision ratelimit.Decision) time.Duration {
	if !decision.Allowed {
		return decision.RetryAfter
	}
	return decision.ResetAfter
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

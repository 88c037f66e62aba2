package answer

import (
	"fmt"
	"strings"
)

// Headers says which families of rate-limit header fields a response carries.
// The zero value means [BothHeaders].
type Headers string

const (
	// IETFHeaders are RateLimit-Policy and RateLimit, as in
	// draft-ietf-httpapi-ratelimit-headers-11.
	IETFHeaders Headers = "ietf"
	// LegacyHeaders are X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset, which no standard describes.
	LegacyHeaders Headers = "legacy"
	// BothHeaders are both families.
	BothHeaders Headers = "both"
)

// Check returns an error unless h is one of the constants or the zero value.
func (h Headers) Check() error {
	switch h {
	case "", IETFHeaders, LegacyHeaders, BothHeaders:
		return nil
	default:
		return fmt.Errorf("is %q, must be ietf, legacy or both", string(h))
	}
}

// exposedFields lists what scripts may read where CORS lets them: the fields of
// headers, and Retry-After.
func exposedFields(headers Headers) string {
	var names []string
	if headers.ietf() {
		names = append(names, "RateLimit", "RateLimit-Policy")
	}
	if headers.legacy() {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	return strings.Join(append(names, fieldRetryAfter), ", ")
}

func (h Headers) ietf() bool   { return h != LegacyHeaders }
func (h Headers) legacy() bool { return h != IETFHeaders }

// LegacyReset says what X-RateLimit-Reset counts. The zero value means
// [DeltaReset].
type LegacyReset string

const (
	// DeltaReset counts seconds from now, as RateLimit does.
	DeltaReset LegacyReset = "delta"
	// EpochReset is a moment in seconds since the Unix epoch.
	EpochReset LegacyReset = "epoch"
)

// Check returns an error unless r is one of the constants or the zero value.
func (r LegacyReset) Check() error {
	switch r {
	case "", DeltaReset, EpochReset:
		return nil
	default:
		return fmt.Errorf("is %q, must be delta or epoch", string(r))
	}
}

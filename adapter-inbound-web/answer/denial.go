package answer

import (
	"fmt"
	"net/http"
)

// DeniedStatus is the status code of a denial. The zero value means
// [DeniedTooManyRequests].
type DeniedStatus string

const (
	// DeniedTooManyRequests is what clients understand (RFC 6585).
	DeniedTooManyRequests DeniedStatus = "429"
	// DeniedForbidden is for proxies that ask before they let a request pass and
	// take any other refusal for a failure, as nginx does. They have to tell the
	// client 429 themselves.
	DeniedForbidden DeniedStatus = "403"
)

// Check returns an error unless s is one of the constants or the zero value.
func (s DeniedStatus) Check() error {
	switch s {
	case "", DeniedTooManyRequests, DeniedForbidden:
		return nil
	default:
		return fmt.Errorf("is %q, must be %s or %s", string(s), DeniedTooManyRequests, DeniedForbidden)
	}
}

func (s DeniedStatus) code() int {
	if s == DeniedForbidden {
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

package edge

import (
	"fmt"

	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/ratelimit"
)

// FailureMode says what becomes of a request while its [Layers] cannot be decided
// because of the store. The zero value means [FailOpen].
type FailureMode string

const (
	// FailClosed refuses it.
	FailClosed FailureMode = "fail-closed"
	// FailOpen lets it pass: for limits that control cost and are no boundary of
	// security.
	FailOpen FailureMode = "fail-open"
	// LocalFallback decides by what this process alone has seen.
	LocalFallback FailureMode = "local-fallback"
)

// Check returns an error unless m is one of the constants or the zero value.
func (m FailureMode) Check() error {
	switch m {
	case "", FailClosed, FailOpen, LocalFallback:
		return nil
	default:
		return fmt.Errorf("is %q, must be %s, %s or %s", string(m), FailClosed, FailOpen, LocalFallback)
	}
}

// Layers are limits that stand in for the default policy where a request has the
// identities of all their levels: it is charged at every level or at none.
type Layers struct {
	// Port decides them. Required.
	Port ratelimit.LayeredPort
	// Levels are 1 to [ratelimit.MaxLevels], the most specific first, each with a
	// name and a policy of its own.
	Levels []Level
	// Root is the name of the level whose subject the others belong to. Empty
	// means the last level that is not shared, or the last one.
	Root string
	// FailureMode says what becomes of requests that cannot be decided.
	FailureMode FailureMode
	// Replicas is how many processes share the limits while [LocalFallback]
	// decides: each enforces its share, rounded up. Not negative; zero means that
	// each enforces the whole limits.
	Replicas int
	// Fallback decides for [LocalFallback]. Nil means one of this edge alone.
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
	// Subject finds the level's subject in a request. Required.
	Subject *subject.Extractor
}

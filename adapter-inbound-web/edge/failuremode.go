package edge

import (
	"fmt"
	"slices"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// FailureMode says what becomes of a request whose [Layers] cannot be decided:
//
//	connection, store-unready, no-reply  FailOpen lets it pass, LocalFallback decides
//	saturated, clock-unsafe              LocalFallback decides
//	anything else                        it is refused in every mode
//
// So nobody can open the gate by flooding it or by sending what makes no sense, and
// what an operator has to mend does not go unnoticed. A client that has gone is
// refused too, since a call that it broke off looks like a lost reply. The default
// policy and the policies of routes have no failure mode: they are refused.
//
// The response to a request that passes or is decided by its mode names the mode in
// Weir-Degraded, a warning is logged, and the counter of [Config].Meter counts it.
//
// The zero value means [FailOpen].
type FailureMode string

const (
	// FailClosed refuses it.
	FailClosed FailureMode = "fail-closed"
	// FailOpen lets it pass, without rate-limit header fields: for limits that
	// control cost and are no boundary of security.
	FailOpen FailureMode = "fail-open"
	// LocalFallback decides by what this process alone has seen, in a window as long
	// as the policy's, at most [locallimit.MaxWindow]. A request that costs more
	// than this process's share of a limit is refused.
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

// Covers reports whether m has an answer of its own to outcome, and if so for which
// category of failure. It is the one opinion of what may open a gate.
func (m FailureMode) Covers(outcome ratelimit.LayeredOutcome) (failure.Category, bool) {
	switch o := outcome.(type) {
	case ratelimit.Unavailable:
		return o.Category, m.coversUnavailable(o.Category)
	case ratelimit.Indeterminate:
		return o.Category, m.coversIndeterminate(o.Category)
	case ratelimit.LayeredEvaluated, ratelimit.Incompatible:
		return "", false
	default: // nil, a pointer or a foreign type
		return "", false
	}
}

func (m FailureMode) coversUnavailable(category failure.Category) bool {
	switch category {
	case failure.Connection, failure.StoreUnready:
		return m != FailClosed
	case failure.Saturated, failure.ClockUnsafe:
		return m == LocalFallback
	default:
		return false
	}
}

func (m FailureMode) coversIndeterminate(category failure.Category) bool {
	return category == failure.NoReply && m != FailClosed
}

// categories are those of the failures that m covers.
func (m FailureMode) categories() []failure.Category {
	return slices.DeleteFunc([]failure.Category{
		failure.Connection, failure.StoreUnready, failure.NoReply, failure.Saturated, failure.ClockUnsafe,
	}, func(category failure.Category) bool {
		return !m.coversUnavailable(category) && !m.coversIndeterminate(category)
	})
}

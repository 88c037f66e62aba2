package legacy_test

import (
	"testing"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that the store counts as gone for three failures, each a category of one
// outcome, and for no other.
func TestStoreGone(t *testing.T) {
	for _, category := range []failure.Category{
		"", "new",
		failure.Saturated, failure.DeadlineTooShort, failure.Cancelled, failure.InvalidRequest, failure.Connection,
		failure.StoreUnready, failure.StoreFull, failure.ClockUnsafe, failure.Unsupported, failure.ShuttingDown,
		failure.AccessDenied, failure.NoReply, failure.ScriptError,
		failure.UnknownPolicy, failure.State, failure.Protocol,
	} {
		for name, test := range map[string]struct {
			outcome ratelimit.LayeredOutcome
			want    bool
		}{
			"unavailable": {
				ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category}},
				category == failure.Connection || category == failure.StoreUnready,
			},
			"indeterminate": {
				ratelimit.Indeterminate{Indeterminate: failure.Indeterminate{Category: category}},
				category == failure.NoReply,
			},
			"incompatible": {ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: category}}, false},
			"a pointer":    {&ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: category}}, false},
		} {
			if got := (legacy.UndecidedError{Outcome: test.outcome}).StoreGone(); got != test.want {
				t.Errorf("%s %s: gone is %t, want %t", name, category, got, test.want)
			}
		}
	}
	for _, outcome := range []ratelimit.LayeredOutcome{nil, ratelimit.LayeredEvaluated{}} {
		if (legacy.UndecidedError{Outcome: outcome}).StoreGone() {
			t.Errorf("the store is gone for %v", outcome)
		}
	}
}

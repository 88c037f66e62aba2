package redislimit

import (
	"context"
	"fmt"
	"math"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// retrySoon is what callers are told to wait when the server may be back any
// moment.
const retrySoon = time.Second

// undecided is an outcome, of one level or of several, that is no decision.
type undecided interface {
	ratelimit.Outcome
	ratelimit.LayeredOutcome
}

func unavailable(policyID string, category failure.Category) undecided {
	return ratelimit.Unavailable{
		Unavailable: failure.Unavailable{Category: category, RetryAfter: retryAfter(category)},
		PolicyID:    policyID,
	}
}

func incompatible(policyID string, category failure.Category) undecided {
	return ratelimit.Incompatible{
		Incompatible: failure.Incompatible{Category: category},
		PolicyID:     policyID,
	}
}

// unanswered is the outcome of a call that brought no reply.
func unanswered(policyID string, failed *certainty.Failure) undecided {
	if failed.Certain {
		return unavailable(policyID, failed.Category)
	}
	return ratelimit.Indeterminate{
		Indeterminate: failure.Indeterminate{Category: failed.Category, RetryAfter: retryAfter(failed.Category)},
		PolicyID:      policyID,
	}
}

// misunderstood is the outcome of a call whose reply makes no sense.
func (l *Limiter) misunderstood(ctx context.Context, policyID string, err error) undecided {
	l.config.Logger.ErrorContext(ctx, "reply of redis not understood", "policy", policyID, "error", err)
	return incompatible(policyID, failure.Protocol)
}

// notDecided is the outcome of a reply that is no decision.
func notDecided(policyID string, answer reply.Reply) undecided {
	category := categoryOf(answer.Status)
	if category == failure.ClockUnsafe {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: category, RetryAfter: duration(answer.RetryAfterMillis)},
			PolicyID:    policyID,
		}
	}
	return incompatible(policyID, category)
}

// categoryOf is the category of a reply that is no decision.
func categoryOf(status reply.Status) failure.Category {
	switch status {
	case reply.ClockUnsafe:
		return failure.ClockUnsafe
	case reply.StateIncompatible:
		return failure.State
	case reply.Allowed, reply.Denied, reply.Invalid:
	}
	return failure.Protocol
}

// fits says whether a reply is one to a call under policy.
func fits(answer reply.Reply, policy ratelimit.Policy) error {
	if answer.Limit != 0 && answer.Limit != policy.Quota() {
		return fmt.Errorf("reply is for limit %d, asked for %d", answer.Limit, policy.Quota())
	}
	return nil
}

func decision(policy ratelimit.Policy, answer reply.Reply) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:    answer.Status == reply.Allowed,
		Limit:      answer.Limit,
		Remaining:  answer.Remaining,
		RetryAfter: duration(answer.RetryAfterMillis),
		ResetAfter: duration(answer.ResetAt - answer.ServerNow),
		ResetAt:    time.UnixMilli(answer.ResetAt).UTC(),
		Policy:     policy,
		Source:     ratelimit.GlobalRedis,
		Certainty:  policy.Parameters().Certainty(),
	}
}

// retryAfter is zero for what waiting alone does not mend.
func retryAfter(category failure.Category) time.Duration {
	switch category {
	case failure.InvalidRequest, failure.DeadlineTooShort, failure.Unsupported, failure.AccessDenied:
		return 0
	}
	return retrySoon
}

// duration saturates: a reply may name moments that no Duration reaches.
func duration(millis int64) time.Duration {
	return time.Duration(min(millis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

package redislimit

import (
	"context"
	"fmt"
	"slices"

	"example.com/weir/adapter-outbound-cache-redis/internal/execution"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// EvaluateLayers keeps the promises of [ratelimit.LayeredPort], with one program
// and in one round trip. Its bound is that of [Limiter.Evaluate].
//
// All levels but the shared ones lie in the hash slot of the root.
func (l *Limiter) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	if _, finite := ctx.Deadline(); !finite || request.IsZero() {
		return unavailable("", failure.InvalidRequest)
	}
	levels, refused := l.levelsOf(request)
	if refused != nil {
		return refused
	}
	bound, problem := l.admit(ctx)
	if problem != "" {
		return unavailable("", problem)
	}
	defer l.admission.Release(1)

	operands := make([]execution.Operand, len(levels))
	for i, level := range levels {
		operands[i] = execution.Operand{
			Key:      level.enforced.keys.Key(request.Scope(level.Level), level.Subject),
			Argument: level.enforced.argument(level.policy, level.Cost),
		}
	}
	raw, failed := l.dispatch(ctx, bound, l.layered, operands...)
	if failed != nil {
		return unanswered("", failed)
	}
	answers, err := reply.ParseLevels(raw, len(levels))
	if err != nil {
		return l.misunderstood(ctx, "", err)
	}
	for i, level := range levels {
		if err := fits(answers[i], level.policy); err != nil {
			return l.misunderstood(ctx, level.PolicyID, fmt.Errorf("level %s: %w", level.Name, err))
		}
	}
	if outcome := gravest(levels, answers); outcome != nil {
		return outcome
	}
	decided := ratelimit.LayeredDecision{Levels: make([]ratelimit.LevelDecision, len(levels))}
	for i, level := range levels {
		decided.Levels[i] = ratelimit.LevelDecision{Level: level.Name, Decision: decision(level.policy, answers[i])}
	}
	return ratelimit.LayeredEvaluated{Decision: decided}
}

// level is a level with what it is decided by.
type level struct {
	ratelimit.Level

	policy   ratelimit.Policy
	enforced *enforcement
}

// levelsOf finds what the levels of a request are decided by, all in the same
// snapshot, or says why one cannot be.
func (l *Limiter) levelsOf(request ratelimit.LayeredRequest) ([]level, undecided) {
	enforced := l.current()
	levels := make([]level, 0, request.Len())
	for _, asked := range request.Levels() {
		one, refused := enforced.enforcementOf(asked.PolicyID)
		if refused != nil {
			return nil, refused
		}
		policy, _ := enforced.snapshot.PolicyFor(asked.PolicyID, asked.Subject)
		policy, err := asked.Effective(policy)
		if err != nil {
			return nil, unavailable(asked.PolicyID, failure.InvalidRequest)
		}
		levels = append(levels, level{Level: asked, policy: policy, enforced: one})
	}
	return levels, nil
}

// gravest is the outcome of the level that is farthest from a decision, or nil if
// all are decided: what is not understood comes before what is incompatible, and
// that before a clock to wait for, the longest wait first.
func gravest(levels []level, answers []reply.Reply) undecided {
	worst := -1
	for i, answer := range answers {
		if !answer.Decides() && (worst < 0 || graver(answer, answers[worst])) {
			worst = i
		}
	}
	if worst < 0 {
		return nil
	}
	return notDecided(levels[worst].PolicyID, answers[worst])
}

func graver(a, b reply.Reply) bool {
	byGravity := []failure.Category{failure.ClockUnsafe, failure.State, failure.Protocol}
	x, y := slices.Index(byGravity, categoryOf(a.Status)), slices.Index(byGravity, categoryOf(b.Status))
	if x != y {
		return x > y
	}
	return a.RetryAfterMillis > b.RetryAfterMillis
}

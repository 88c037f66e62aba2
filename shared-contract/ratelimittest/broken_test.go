package ratelimittest

import (
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// broken is an implementation that breaks one promise and keeps all others.
type broken struct {
	clause string
	name   string
	flaw   flaw
}

func brokenImplementations() []broken {
	return []broken{
		{"answers with values", "answers with pointers", answering(pointerTo)},
		{"answers with values", "answers nil when cancelled on the way", when(silent, answersIfCancelled(nil))},
		{"answers with values", "answers with its own type when cancelled on the way", when(silent, answersIfCancelled(ownType{}))},

		{"refuses the zero request", "looks for its policy", when(zeroRequest, answers(AlwaysIncompatible(failure.UnknownPolicy)))},
		{"refuses the zero request", "allows it", when(zeroRequest, answers(allows))},

		{"refuses a call without a deadline", "does not look", when(withoutDeadline, decides)},
		{"refuses a call without a deadline", "charges first", when(withoutDeadline, chargesFirst)},

		{"refuses a call that is too late", "does not look", when(tooLate, decides)},
		{"refuses a call that is too late", "charges first", when(tooLate, chargesFirst)},
		{"refuses a call that is too late", "takes it for cancelled", when(tooLate, answers(AlwaysUnavailable(failure.Cancelled, 0)))},

		{"refuses a cancelled call", "does not look", when(cancelled, decides)},
		{"refuses a cancelled call", "charges first", when(cancelled, chargesFirst)},
		{"refuses a cancelled call", "blames the store", when(cancelled, answers(AlwaysUnavailable(failure.Connection, 0)))},

		{"refuses a cost above the maximum", "charges the maximum", when(tooDear, decides)},
		{"refuses a cost above the maximum", "charges first", when(tooDear, chargesFirst)},
		{"refuses a cost above the maximum", "denies it", when(tooDear, answers(denies))},

		{"refuses an evaluation ID", "does not look", when(identified, decides)},
		{"refuses an evaluation ID", "charges first", when(identified, chargesFirst)},
		{"refuses an evaluation ID", "finds it invalid", when(identified, answers(AlwaysUnavailable(failure.InvalidRequest, 0)))},

		{"refuses an unknown policy", "finds it invalid", when(underNoPolicy, answers(AlwaysUnavailable(failure.InvalidRequest, 0)))},
		{"refuses an unknown policy", "allows it", when(underNoPolicy, answers(allows))},

		{"failures name the policy", "no policy in failures", answering(withoutPolicy)},
		{"failures name the policy", "a wait that is over", answering(withNegativeWait)},

		{"admits exactly the quota", "one more", stepping(admitOneMore)},
		{"admits exactly the quota", "one less", stepping(denyTheLastUnit)},

		{"charges the cost", "ignores it", stepping(chargeOneForAnything)},
		{"charges the cost", "looks at it and charges one", stepping(chargeOneAfterAll)},

		{"a denial charges nothing", "counts, then compares", stepping(countThenCompare)},

		{"parallel calls share the quota", "looks, then charges", storing(lookingThenCharging)},
		{"parallel calls share the quota", "locks within the process", flaw{store: lookingThenCharging, port: lockedInTheProcess}},
		{"parallel calls share the quota", "counts within the process", flaw{port: countingInTheProcess}},
		{"parallel calls share the quota", "denies what it meets on the way", storing(denyingOnContention)},

		{"subjects are separate", "keeps the first half of a digest", keeping(onePerFirstHalf)},
		{"subjects are separate", "keeps the second half of a digest", keeping(onePerSecondHalf)},

		{"policies are separate", "one count per subject", keeping(onePerRevision)},

		{"a new revision starts empty", "one count per policy ID", keeping(onePerPolicyID)},
		{"a new revision starts empty", "finds the state of another algorithm", storing(keepingTheAlgorithm)},

		{"decisions are coherent", "no policy", deciding(func(d *ratelimit.Decision) { d.Policy = ratelimit.Policy{} })},
		{"decisions are coherent", "the limit of a request", deciding(func(d *ratelimit.Decision) { d.Limit = maxCost })},
		{"decisions are coherent", "always certain", deciding(func(d *ratelimit.Decision) { d.Certainty = ratelimit.Certain })},
		{"decisions are coherent", "no source", deciding(func(d *ratelimit.Decision) { d.Source = "" })},
		{"decisions are coherent", "remaining does not fall", admitting(func(d *ratelimit.Decision) { d.Remaining = quota - 1 })},
		{"decisions are coherent", "one remains at a denial", refusing(func(d *ratelimit.Decision) { d.Remaining = 1 })},
		{"decisions are coherent", "reset in local time", deciding(func(d *ratelimit.Decision) { d.ResetAt = d.ResetAt.Local() })},
		{"decisions are coherent", "reset in the past", refusing(func(d *ratelimit.Decision) { shiftReset(d, -d.ResetAfter-time.Second) })},
		{"decisions are coherent", "reset before the next admission", refusing(func(d *ratelimit.Decision) { shiftReset(d, -d.ResetAfter) })},
		{"decisions are coherent", "a clock that stands still", deciding(stopTheClock)},
		{"decisions are coherent", "a wait for what was admitted", admitting(func(d *ratelimit.Decision) { d.RetryAfter = time.Second })},

		{"retry-after keeps its word", "half of the wait", refusing(func(d *ratelimit.Decision) { d.RetryAfter /= 2 })},
		{"retry-after keeps its word", "a millisecond too short", refusing(func(d *ratelimit.Decision) { d.RetryAfter -= time.Millisecond })},
		{"retry-after keeps its word", "a millisecond too long", refusing(waitLonger)},
		{"retry-after keeps its word", "whole seconds, rounded down", refusing(func(d *ratelimit.Decision) { d.RetryAfter = d.RetryAfter.Truncate(time.Second) })},
		{"retry-after keeps its word", "forgets before the time", stepping(forgetEarly)},

		{"reset-after keeps its word", "half of the time", admitting(func(d *ratelimit.Decision) { shiftReset(d, -d.ResetAfter/2) })},

		{"policies are those of the moment", "those of the start", storing(policiesAsAtFirst)},
		{"policies are those of the moment", "each revision as it was at first", storing(revisionsAsAtFirst)},
		{"policies are those of the moment", "names the policy as it was at first", flaw{port: namingPoliciesAsAtFirst}},
		{"policies are those of the moment", "keeps what was removed", flaw{port: keepingRemovedPolicies}},

		{"an edit keeps what was spent", "an edit refills", keeping(onePerQuota)},
		{"an edit keeps what was spent", "the limit is that of the first request", storing(limitOfTheFirstRequest)},
		{"an edit keeps what was spent", "remaining falls below zero", stepping(remainingBelowZero)},

		{"overrides hold", "the same for everybody", storing(withoutOverrides)},
		{"overrides hold", "names the policy of everybody", flaw{port: namingPoliciesOfEverybody}},
		{"overrides hold", "names the limit of everybody", flaw{port: namingLimitsOfEverybody}},

		{"an unreachable store charges nothing", "takes it for a lost reply", when(unreachable, answers(AlwaysIndeterminate(failure.NoReply, 0)))},
		{"an unreachable store charges nothing", "takes it for a bug", when(unreachable, answers(AlwaysUnavailable(failure.Unsupported, 0)))},
		{"an unreachable store charges nothing", "allows", when(unreachable, answers(allows))},
		{"an unreachable store charges nothing", "sends it later", sendingLater(unreachable)},

		{"a lost reply leaves doubt", "says that nothing was charged", when(silent, chargesAndAnswers(AlwaysUnavailable(failure.Connection, 0)))},
		{"a lost reply leaves doubt", "allows", when(silent, chargesAndAnswers(allows))},
		{"a lost reply leaves doubt", "denies", when(silent, chargesAndAnswers(denies))},
		{"a lost reply leaves doubt", "finds it incompatible", when(silent, chargesAndAnswers(AlwaysIncompatible(failure.Protocol)))},

		{"charges at most once", "asks again", when(silent, asksAgain)},
		{"charges at most once", "sends it again later", sendingLater(silent)},
		{"charges at most once", "does not send it at all", when(silent, answers(AlwaysIndeterminate(failure.NoReply, 0)))},

		{"answers by the deadline", "hangs while the store is unreachable", when(unreachable, answersLate)},
		{"answers by the deadline", "hangs while the store is silent", when(silent, answersLate)},

		{"decides again", "gives up an unreachable store", givingUp(unreachable)},
		{"decides again", "gives up a silent store", givingUp(silent)},
	}
}

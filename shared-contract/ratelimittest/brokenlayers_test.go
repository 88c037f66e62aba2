package ratelimittest

import (
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

func brokenLayeredImplementations() []broken {
	return []broken{
		{"answers with values", "answers with pointers", answeringLayers(pointerTo)},
		{"answers with values", "answers nil when cancelled on the way", whenLayered(silent, answersLayersIfCancelled(nil))},
		{"answers with values", "answers with its own type when cancelled on the way", whenLayered(silent, answersLayersIfCancelled(ownType{}))},

		{"refuses the zero request", "looks for its policies", whenLayered(zeroRequest, answersLayers(LayeredAlwaysIncompatible(failure.UnknownPolicy)))},
		{"refuses the zero request", "decides no levels", whenLayered(zeroRequest, answersLayers(allowsLayers))},

		{"refuses a call without a deadline", "does not look", whenLayered(withoutDeadline, decidesLayers)},
		{"refuses a call without a deadline", "charges first", whenLayered(withoutDeadline, chargesLayersFirst)},

		{"refuses a call that is too late", "does not look", whenLayered(tooLate, decidesLayers)},
		{"refuses a call that is too late", "charges first", whenLayered(tooLate, chargesLayersFirst)},

		{"refuses a cancelled call", "does not look", whenLayered(cancelled, decidesLayers)},
		{"refuses a cancelled call", "charges first", whenLayered(cancelled, chargesLayersFirst)},
		{"refuses a cancelled call", "blames the store", whenLayered(cancelled, answersLayers(LayeredAlwaysUnavailable(failure.Connection, 0)))},

		{"refuses a cost above the maximum", "charges the maximum", whenAny(tooDearALevel, decidesLayers)},
		{"refuses a cost above the maximum", "charges first", whenAny(tooDearALevel, chargesLayersFirst)},
		{"refuses a cost above the maximum", "does not look at the level's limit", whenAny(tooDearForItsLimit, decidesLayers)},

		{"refuses a limit above the policy's", "takes the policy's", whenAny(limitedTooHigh, decidesLayers)},
		{"refuses a limit above the policy's", "charges first", whenAny(limitedTooHigh, chargesLayersFirst)},

		{"refuses an unknown policy", "leaves the level out", whenAny(ofUnknownPolicy, decidesLayers)},
		{"refuses an unknown policy", "charges the other levels", whenAny(ofUnknownPolicy, chargesLayersFirst)},

		{"failures name the policy at fault", "no policy in failures", answeringLayers(withoutPolicy)},
		{"failures name the policy at fault", "the policy of the first level", calling(blamesTheFirstLevel)},
		{"failures name the policy at fault", "a policy although no level is at fault", whenLayered(unreachable, blamesTheFirstLevel)},
		{"failures name the policy at fault", "a wait that is over", answeringLayers(withNegativeWait)},

		{"admits exactly the quota", "one more", havingMore(1)},
		{"admits exactly the quota", "one less", havingMore(-1)},

		{"charges every level", "the first only", steppingLayers(chargingOnly(theFirst))},
		{"charges every level", "the last only", steppingLayers(chargingOnly(theLast))},
		{"charges every level", "one unit at each", steppingLayers(chargeOneAtEveryLevel)},
		{"charges every level", "the cost of the first at each", steppingLayers(chargeTheFirstCostAtEveryLevel)},

		{"charges all levels or none", "each level by itself", steppingLayers(chargeWhatAdmits(whatever))},
		{"charges all levels or none", "until one refuses", steppingLayers(chargeWhatAdmits(beforeTheRefusal))},
		{"charges all levels or none", "from the root downwards", steppingLayers(chargeWhatAdmits(afterTheRefusal))},

		{"names every level that refuses", "the first only", refusedByOne(firstOf)},
		{"names every level that refuses", "the last only", refusedByOne(lastOf)},

		{"an admission beside a refusal says what is left", "as if it were charged", besideRefusals(func(d *ratelimit.Decision) { d.Remaining-- })},
		{"an admission beside a refusal says what is left", "nothing", besideRefusals(func(d *ratelimit.Decision) { d.Remaining = 0 })},
		{"an admission beside a refusal says what is left", "the whole quota", besideRefusals(func(d *ratelimit.Decision) { d.Remaining = d.Limit })},
		{"an admission beside a refusal says what is left", "a reset as if it were charged", besideRefusals(func(d *ratelimit.Decision) { shiftReset(d, time.Second) })},
		{"an admission beside a refusal says what is left", "a reset now", besideRefusals(func(d *ratelimit.Decision) { shiftReset(d, -d.ResetAfter) })},

		{"parallel calls share every level", "looks, then charges", flaw{layers: lookingThenChargingLayers}},
		{"parallel calls share every level", "locks within the process", flaw{layers: lookingThenChargingLayers, layeredPort: lockedInTheProcessLayered}},
		{"parallel calls share every level", "denies what it meets on the way", flaw{layers: denyingLayersOnContention}},

		{"eight levels are decided at once", "refuses more than seven", refusingMoreThan(ratelimit.MaxLevels - 1)},

		{"levels are separate", "one count per root and policy", keepingLayers(onePerRoot)},
		{"levels are separate", "one count per root and subject", keepingLayers(onePerSubjectAndRoot)},

		{"roots are separate", "one count per subject", keepingLayers(onePerSubject)},
		{"roots are separate", "keeps the first half of the root", keepingLayers(onePerFirstHalfOfTheRoot)},
		{"roots are separate", "keeps the second half of the root", keepingLayers(onePerSecondHalfOfTheRoot)},

		{"a shared level is one counter", "one for each root", editing(sharingNothing)},
		{"a shared level is one counter", "one of its own beside that of the subject by itself", editing(sharingAmongRoots)},

		{"the root's own level is the root's counter", "one of its own", editing(underAnotherRoot)},

		{"other levels are apart from single evaluations", "charges both", calling(alsoByItself)},

		{"a new revision starts empty", "one count per policy ID", keepingLayers(onePerPolicyID)},

		{"a level's limit holds", "does not look", editing(withoutLimits)},
		{"a level's limit holds", "names the policy without it", whenAny(limitedBelow, namesItsPolicyWithoutLimit)},

		{"a limit keeps what was spent", "one count per limit", keepingLayers(onePerQuota)},
		{"a limit keeps what was spent", "remaining falls below zero", steppingLayers(remainingBelowZeroAtALevel)},

		{"overrides hold", "the same for everybody", openingLayers(func(s *openLayeredStore) { s.policies = s.harness.policiesOfEverybody })},
		{"overrides hold", "bounds limits by the policy", whenAny(limitedAboveThePolicy, answersLayers(LayeredAlwaysUnavailable(failure.InvalidRequest, 0)))},
		{"overrides hold", "takes limits above a lower override", whenAny(limitedAboveTheOverride, decidesLayers)},

		{"policies are those of the moment", "those of the start", openingLayers(func(s *openLayeredStore) { s.policies = s.harness.policiesAtFirst })},

		{"decisions are coherent", "levels from the root downwards", decidingLayers(reversed)},
		{"decisions are coherent", "levels at different moments", decidingLayers(oneAfterTheOther)},
		{"decisions are coherent", "no source", everyLevel(func(d *ratelimit.Decision) { d.Source = "" })},
		{"decisions are coherent", "always certain", everyLevel(func(d *ratelimit.Decision) { d.Certainty = ratelimit.Certain })},
		{"decisions are coherent", "remaining before the charge", decidingLayers(remainingBeforeTheCharge)},
		{"decisions are coherent", "one remains at a denial", refusingLevels(func(d *ratelimit.Decision) { d.Remaining = 1 })},
		{"decisions are coherent", "a clock that stands still", everyLevel(stopTheClock)},
		{"decisions are coherent", "a wait for what was admitted", admittingLevels(func(d *ratelimit.Decision) { d.RetryAfter = time.Second })},

		{"retry-after keeps its word", "half of the wait", refusingLevels(func(d *ratelimit.Decision) { d.RetryAfter /= 2 })},
		{"retry-after keeps its word", "a millisecond too long", refusingLevels(waitLonger)},
		{"retry-after keeps its word", "the longest wait at every level", decidingLayers(longestWaitAtEveryLevel)},

		{"reset-after keeps its word", "half of the time", admittingLevels(func(d *ratelimit.Decision) { shiftReset(d, -d.ResetAfter/2) })},

		{"an unreachable store charges nothing", "takes it for a lost reply", whenLayered(unreachable, answersLayers(LayeredAlwaysIndeterminate(failure.NoReply, 0)))},
		{"an unreachable store charges nothing", "allows", whenLayered(unreachable, answersLayers(allowsLayers))},
		{"an unreachable store charges nothing", "sends it later", sendingLayersLater(unreachable)},

		{"a lost reply leaves doubt", "says that nothing was charged", whenLayered(silent, chargesLayersAndAnswers(LayeredAlwaysUnavailable(failure.Connection, 0)))},
		{"a lost reply leaves doubt", "allows", whenLayered(silent, chargesLayersAndAnswers(allowsLayers))},
		{"a lost reply leaves doubt", "denies", whenLayered(silent, chargesLayersAndAnswers(deniesLayers))},

		{"charges at most once", "asks again", whenLayered(silent, asksLayersAgain)},
		{"charges at most once", "asks the first level again", whenLayered(silent, asksTheFirstLevelAgain)},
		{"charges at most once", "sends it again later", sendingLayersLater(silent)},
		{"charges at most once", "does not send it at all", whenLayered(silent, answersLayers(LayeredAlwaysIndeterminate(failure.NoReply, 0)))},

		{"answers by the deadline", "hangs while the store is unreachable", whenLayered(unreachable, answersLayersLate)},
		{"answers by the deadline", "hangs while the store is silent", whenLayered(silent, answersLayersLate)},

		{"decides again", "gives up an unreachable store", givingUpLayers(unreachable)},
		{"decides again", "gives up a silent store", givingUpLayers(silent)},
	}
}

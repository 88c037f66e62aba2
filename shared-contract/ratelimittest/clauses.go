package ratelimittest

// clause is one promise of the port and how it is checked. It looks at nothing
// else, so that an implementation that breaks one promise fails one clause: where
// it needs to know what is left to a subject, it compares with another subject
// rather than with the policy.
type clause struct {
	name    string
	promise string
	check   func(*stage)
}

// tries is how often a clause is played at the most.
const tries = 3

// play checks the clause, on another stage each time it complains of what may be
// the machine's doing.
func (c clause) play(newStage func() *stage) {
	for left := tries - 1; ; left-- {
		s := newStage()
		s.repeatable = left > 0
		complaint := c.complaintOn(s)
		if complaint == nil {
			return
		}
		s.Logf("once more, since the machine may have stood still: %v", complaint)
	}
}

// complaintOn is what the clause complains of if it may be repeated; nil if not.
func (c clause) complaintOn(s *stage) (complaint any) {
	defer func() {
		complaint = recover()
		if _, late := complaint.(perhapsLate); complaint != nil && !late {
			panic(complaint)
		}
	}()
	c.check(s)
	return nil
}

// perhapsLate is a complaint of what a machine that stood still explains.
type perhapsLate string

func clauses() []clause {
	return []clause{
		{"answers with values",
			"Every outcome is one of the four values of package ratelimit: never nil, a pointer or a type of the implementer's own.",
			answersWithValues},
		{"refuses the zero request",
			"A request that NewRequest did not make is Unavailable(invalid-request).",
			refusesTheZeroRequest},
		{"refuses a call without a deadline",
			"A ctx without a deadline is Unavailable(invalid-request), and nothing is charged.",
			refusesACallWithoutADeadline},
		{"refuses a call that is too late",
			"A ctx whose deadline has passed is Unavailable(deadline-too-short), and nothing is charged.",
			refusesACallThatIsTooLate},
		{"refuses a cancelled call",
			"A ctx that was cancelled before the call is Unavailable(cancelled), and nothing is charged.",
			refusesACancelledCall},
		{"refuses a cost above the maximum",
			"A cost that the policy does not bear is Unavailable(invalid-request), and nothing is charged.",
			refusesACostAboveTheMaximum},
		{"refuses an evaluation ID",
			"A request with an evaluation ID is Unavailable(unsupported), and nothing is charged.",
			refusesAnEvaluationID},
		{"refuses an unknown policy",
			"A policy that the catalog does not hold is Incompatible(unknown-policy).",
			refusesAnUnknownPolicy},
		{"failures name the policy",
			"A failure carries the request's policy ID, and no negative retry-after.",
			failuresNameThePolicy},
		{"admits exactly the quota",
			"Of requests in a row for one unit each, as many are admitted as the policy has, and no more.",
			admitsExactlyTheQuota},
		{"charges the cost",
			"A request that is allowed spends its cost, neither more nor less.",
			chargesTheCost},
		{"a denial charges nothing",
			"After any number of denials as much is left as before them.",
			aDenialChargesNothing},
		{"parallel calls share the quota",
			"Calls at one time, from two processes, are admitted as often as calls in a row.",
			parallelCallsShareTheQuota},
		{"subjects are separate",
			"What one subject spends is not missing to another, however alike their digests are.",
			subjectsAreSeparate},
		{"policies are separate",
			"What a subject spends under one policy is not missing under another.",
			policiesAreSeparate},
		{"a new revision starts empty",
			"Under a new revision of a policy, even one of another algorithm, nothing was spent yet.",
			aNewRevisionStartsEmpty},
		{"decisions are coherent",
			"Limit, remaining, reset, policy, source and certainty of a decision agree with each other and with the catalog, and an admission names no wait.",
			decisionsAreCoherent},
		{"retry-after keeps its word",
			"The wait that a denial names is the shortest after which the same request is admitted.",
			retryAfterKeepsItsWord},
		{"reset-after keeps its word",
			"After the time that a decision names, a subject that spends nothing has its whole quota again.",
			resetAfterKeepsItsWord},
		{"policies are those of the moment",
			"A policy that is edited, added or removed in the catalog is so for the next call.",
			policiesAreThoseOfTheMoment},
		{"an edit keeps what was spent",
			"A limit that is raised or lowered under the same revision, for all or for one subject, leaves what was spent as it was, and remaining never falls below zero.",
			anEditKeepsWhatWasSpent},
		{"overrides hold",
			"A subject with an override has its quota, higher or lower, and nobody else has; the decision names the policy with that quota.",
			overridesHold},
		{"an unreachable store charges nothing",
			"While the store cannot be reached a call is Unavailable(connection), and nothing is charged, not even later.",
			anUnreachableStoreChargesNothing},
		{"a lost reply leaves doubt",
			"A call whose reply is lost is Indeterminate(no-reply).",
			aLostReplyLeavesDoubt},
		{"charges at most once",
			"A call that the store executed and whose reply is lost is charged once, and is not repeated later.",
			chargesAtMostOnce},
		{"answers by the deadline",
			"Whether the store is unreachable or silent, the answer comes at about the deadline at the latest.",
			answersByTheDeadline},
		{"decides again",
			"Once the store is there again, decisions are made again, however many calls failed.",
			decidesAgain},
	}
}

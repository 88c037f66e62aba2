package ratelimit

import "context"

// EdgePort decides whether a subject may spend cost units under a policy, and
// spends them when it may.
type EdgePort interface {
	// Evaluate decides one request and charges it if, and only if, it is
	// allowed. It is one atomic step: concurrent calls for one subject and
	// policy, from any number of processes, never admit more than the policy.
	//
	// The caller promises a ctx with a deadline, which bounds the call, and a
	// Request made by NewRequest. A call that breaks these promises is answered
	// Unavailable(invalid-request).
	//
	// The implementer promises, and ratelimittest.Run checks,
	//   - to refuse as Unavailable what cannot be decided: a ctx that is already
	//     cancelled (cancelled) or late (deadline-too-short), a cost above the
	//     policy's maximum (invalid-request), an evaluation ID (unsupported); and
	//     a policy that the catalog does not hold as Incompatible(unknown-policy);
	//   - to charge at most once, whatever happens on the way;
	//   - to charge nothing when it answers a denial or Unavailable, such as when
	//     the store cannot be reached (connection);
	//   - to answer Indeterminate whenever it cannot tell whether it charged, or
	//     Incompatible when that is because a reply makes no sense, and never to
	//     answer "allowed" in doubt;
	//   - to answer at about the deadline at the latest, though a cancelled call
	//     may still be charged;
	//   - to take policies from the catalog it was built with, at the moment of
	//     the call, and to keep what was spent when one is edited under the same
	//     revision;
	//   - to decide again by itself once its store is there again;
	//   - to answer with one of the Outcome values of this package, never nil
	//     and never a pointer.
	//
	// Evaluate is safe for concurrent use. It keeps neither ctx nor request.
	Evaluate(ctx context.Context, request Request) Outcome
}

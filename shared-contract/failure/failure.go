// Package failure holds the three classes of failure that every capability of
// Weir shares. They differ in what the caller may conclude about the store:
//
//   - [Unavailable]: nothing was changed, and that is known.
//   - [Indeterminate]: the operation was dispatched and may have been applied.
//   - [Incompatible]: the store, its program or its reply is not what this
//     process understands, so asking again will not help.
//
// A capability embeds a class in an outcome of its own and adds what it knows,
// such as the policy. The classes are comparable values; none of them is an
// error and none of them ever means "allowed".
package failure

import "time"

// Category says why an operation failed. Its text is stable and public: it
// stands in logs, in problem documents and in metrics. The zero value is no
// category.
type Category string

// Categories of [Unavailable].
const (
	// Saturated: a local bound on concurrent work was reached.
	Saturated Category = "saturated"
	// DeadlineTooShort: the caller leaves less time than one operation may take.
	DeadlineTooShort Category = "deadline-too-short"
	// Cancelled: the caller gave up before anything was dispatched.
	Cancelled Category = "cancelled"
	// InvalidRequest: the request breaks the port's preconditions.
	InvalidRequest Category = "invalid-request"
	// Connection: the store could not be reached.
	Connection Category = "connection"
	// StoreUnready: the store is reachable and refuses work for the moment.
	StoreUnready Category = "store-unready"
	// StoreFull: the store refuses writes until an operator makes room or
	// repairs its persistence or replication.
	StoreFull Category = "store-full"
	// ClockUnsafe: the store's clock ran backwards by more than the policy bears.
	ClockUnsafe Category = "clock-unsafe"
	// Unsupported: this revision of the adapter does not offer what was asked.
	Unsupported Category = "unsupported"
	// ShuttingDown: the process is stopping.
	ShuttingDown Category = "shutting-down"
)

// AccessDenied is a category of [Unavailable] when the store refused the
// operation as a whole, and of [Indeterminate] when it refused a step of an
// operation that was already running.
const AccessDenied Category = "access-denied"

// Categories of [Indeterminate].
const (
	// NoReply: the operation was sent and no complete reply came back.
	NoReply Category = "no-reply"
	// ScriptError: the operation failed inside the store, perhaps after a write.
	ScriptError Category = "script-error"
)

// Categories of [Incompatible].
const (
	// UnknownPolicy: the adapter's catalog has no such policy.
	UnknownPolicy Category = "unknown-policy"
	// State: what is stored does not belong to this policy; it was left untouched.
	State Category = "state"
	// Protocol: the store's reply, or its view of the call, is not understood.
	Protocol Category = "protocol"
)

// Unavailable reports that the operation did not happen: nothing was changed.
type Unavailable struct {
	Category Category
	// RetryAfter is how long a caller should wait before it asks again; zero
	// when waiting alone does not help.
	RetryAfter time.Duration
}

// Indeterminate reports that the operation was dispatched and that nobody can
// say whether it was applied. A caller must not repeat it as if it had not been.
type Indeterminate struct {
	Category Category
	// RetryAfter is how long a caller should wait before it asks again.
	RetryAfter time.Duration
}

// Incompatible reports a lasting disagreement between this process and the
// store. It needs an operator, not a retry.
type Incompatible struct {
	Category Category
	// RetryAfter is zero unless waiting is known to help.
	RetryAfter time.Duration
}

package subject

import "errors"

// ErrMissing: the request does not carry the header that identifies its
// subject, or not in a form that can be believed. The error that says so is a
// [*MissingError].
var ErrMissing = errors.New("the request does not say who is asking")

// ErrNoAddress: the client's network address is needed, and the connection has
// none, as on a Unix socket.
var ErrNoAddress = errors.New("the connection has no network address")

// MissingError is [ErrMissing] with the name of the header. The header counts as
// missing unless it stands in the request exactly once, has a value of 1 to
// [pseudonym.MaxSubjectBytes] bytes between its spaces and, when there are
// trusted proxies, comes from one of them.
type MissingError struct {
	// Header is the canonical name.
	Header string
}

// Error names the header and never its value.
func (e *MissingError) Error() string { return ErrMissing.Error() + ": header " + e.Header }

// Is reports whether target is [ErrMissing].
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

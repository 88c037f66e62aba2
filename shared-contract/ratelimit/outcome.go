package ratelimit

import "example.com/weir/shared-contract/failure"

// Outcome is what an evaluation came to: exactly one of the values below. An
// adapter returns values, never pointers; what is nil, a pointer or foreign is
// a broken adapter and is to be treated like [Incompatible].
//
//	Evaluated      allowed and charged, or denied and not charged
//	Unavailable    not charged, and that is known
//	Indeterminate  dispatched; may have been charged
//	Incompatible   policy, state, program or reply does not match
//
//sumtype:decl
type Outcome interface{ outcome() }

// Evaluated carries a decision.
type Evaluated struct {
	Decision Decision
}

// Unavailable: nothing was charged.
type Unavailable struct {
	failure.Unavailable
	PolicyID string
}

// Indeterminate: the request may have been charged. Asking again may charge
// twice.
type Indeterminate struct {
	failure.Indeterminate
	PolicyID string
}

// Incompatible: this process and the store do not understand each other, and will
// not until an operator acts. An unknown policy or a foreign state charged
// nothing; after a reply that makes no sense (protocol) nobody can say.
type Incompatible struct {
	failure.Incompatible
	PolicyID string
}

func (Evaluated) outcome()     {}
func (Unavailable) outcome()   {}
func (Indeterminate) outcome() {}
func (Incompatible) outcome()  {}

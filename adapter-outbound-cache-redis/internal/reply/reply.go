// Package reply reads what a rate program answers: exactly seven scalars,
//
//	status, serverNowMillis, effectiveNowMillis,
//	limit, remaining, retryAfterMillis, resetAtMillis
//
// and as many for each level where there are several. Whatever else arrives is an
// error, never a decision.
package reply

import (
	"errors"
	"fmt"
	"strconv"
)

// Status is the first field.
type Status string

// All statuses that a program answers.
const (
	Allowed           Status = "ALLOWED"
	Denied            Status = "DENIED"
	ClockUnsafe       Status = "CLOCK_UNSAFE"
	StateIncompatible Status = "STATE_INCOMPATIBLE"
	Invalid           Status = "INVALID"
)

// exact is the largest integer up to which the programs count exactly.
const exact = 1<<53 - 1

// fields is the arity of a reply.
const fields = 7

// Reply is a well-formed reply. Clocks are ms since the epoch by the server's
// clock.
type Reply struct {
	Status           Status
	ServerNow        int64
	EffectiveNow     int64
	Limit            int64
	Remaining        int64
	RetryAfterMillis int64 // from ServerNow
	ResetAt          int64
}

// Parse checks arity, types, ranges and that the fields fit each other and the
// status. Integers may arrive as such or as their decimal text.
func Parse(raw any) (Reply, error) {
	values, err := array(raw, fields)
	if err != nil {
		return Reply{}, err
	}
	status, ok := values[0].(string)
	if !ok {
		return Reply{}, fmt.Errorf("status is a %T, must be a string", values[0])
	}
	reply := Reply{Status: Status(status)}
	for i, target := range [...]*int64{
		&reply.ServerNow, &reply.EffectiveNow,
		&reply.Limit, &reply.Remaining, &reply.RetryAfterMillis, &reply.ResetAt,
	} {
		n, err := integer(values[i+1])
		if err != nil {
			return Reply{}, fmt.Errorf("field %d: %w", i+1, err)
		}
		*target = n
	}
	return reply, reply.check()
}

// ParseLevels checks the reply of a program for several levels: as many replies,
// one after another, that were given at one moment.
func ParseLevels(raw any, levels int) ([]Reply, error) {
	values, err := array(raw, levels*fields)
	if err != nil {
		if whole, notLevels := Parse(raw); notLevels == nil {
			err = fmt.Errorf("the program says %s of the call as a whole", whole.Status)
		}
		return nil, err
	}
	replies := make([]Reply, levels)
	for i := range replies {
		reply, err := Parse(values[i*fields : (i+1)*fields])
		if err != nil {
			return nil, fmt.Errorf("level %d: %w", i, err)
		}
		if replies[i] = reply; reply.ServerNow != replies[0].ServerNow {
			return nil, fmt.Errorf("level %d: another clock than that of level 0", i)
		}
	}
	return replies, nil
}

func array(raw any, length int) ([]any, error) {
	values, ok := raw.([]any)
	if !ok {
		return nil, fmt.Errorf("reply is a %T, must be an array", raw)
	}
	if len(values) != length {
		return nil, fmt.Errorf("reply has %d fields, must have %d", len(values), length)
	}
	return values, nil
}

// Decides reports whether the program came to a decision.
func (r Reply) Decides() bool { return r.Status == Allowed || r.Status == Denied }

func integer(value any) (int64, error) {
	var n int64
	switch v := value.(type) {
	case int64:
		n = v
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		if err != nil || strconv.FormatInt(parsed, 10) != v {
			return 0, errors.New("not a decimal integer")
		}
		n = parsed
	default:
		return 0, fmt.Errorf("is a %T, must be an integer", value)
	}
	if n < 0 || n > exact {
		return 0, fmt.Errorf("is %d, must be 0 to %d", n, int64(exact))
	}
	return n, nil
}

func (r Reply) check() error {
	if r.EffectiveNow < r.ServerNow {
		return errors.New("the effective clock is behind the server's")
	}
	switch r.Status {
	case Allowed, Denied:
		return r.checkDecision()
	case ClockUnsafe:
		if r.RetryAfterMillis == 0 {
			return errors.New("an unsafe clock without a retry")
		}
		r.RetryAfterMillis = 0
	case StateIncompatible, Invalid:
	default:
		return errors.New("unknown status")
	}
	if r.Limit != 0 || r.Remaining != 0 || r.RetryAfterMillis != 0 || r.ResetAt != 0 {
		return fmt.Errorf("%s with the numbers of a decision", r.Status)
	}
	return nil
}

func (r Reply) checkDecision() error {
	switch {
	case r.Limit < 1:
		return errors.New("a decision without a limit")
	case r.Remaining > r.Limit:
		return fmt.Errorf("remaining %d is above the limit %d", r.Remaining, r.Limit)
	case r.ResetAt < r.EffectiveNow:
		return errors.New("the reset is in the past")
	case (r.Status == Denied) != (r.RetryAfterMillis > 0):
		return fmt.Errorf("%s with a retry after %d ms", r.Status, r.RetryAfterMillis)
	}
	return nil
}

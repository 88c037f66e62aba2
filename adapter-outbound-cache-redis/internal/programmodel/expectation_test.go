package programmodel_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
)

// expectation is what the model makes of a call.
type expectation struct {
	programmodel.Vector
	after  image
	moves  bool  // the expiry
	latest int64 // when the key may expire at the latest
}

func expect(program string, e exchange, before image, now int64) expectation {
	arguments := e.arguments
	if e.keys != 1 {
		arguments = nil // the model knows one key only; to it that is as invalid
	}
	answer, key := programmodel.Run(program, before.key(), arguments, now)
	x := expectation{after: image{hash: split(key.Hash), other: key.Other, dump: before.dump}}
	switch key.TTLMillis {
	case 0:
	case untouched:
		x.after.expiresAt = before.expiresAt
	default:
		x.after.expiresAt, x.moves = now+key.TTLMillis, true
	}
	x.latest = x.after.expiresAt

	x.Vector = programmodel.Vector{
		Name: e.move, NowMillis: now, Before: before.key(), Arguments: arguments, Reply: programmodel.Wire(answer), After: key,
	}
	x.Before.TTLMillis, x.After.TTLMillis = before.lives(now), x.after.lives(now)
	return x
}

// difference says how what was seen differs from the expectation; "" if it does
// not.
func (x expectation) difference(s seen) string {
	if !slices.Equal(s.raw, x.Reply) {
		return fmt.Sprintf("reply is %v; the model says %v", s.raw, x)
	}
	want := x.after
	if s.after.absent() && want.expiresAt > 0 && want.expiresAt <= s.received {
		return ""
	}
	if s.after.expiresAt > want.expiresAt && s.after.expiresAt <= x.latest {
		want.expiresAt = s.after.expiresAt
	}
	if !s.after.equals(want) {
		return fmt.Sprintf("key is %+v, must be %+v; the model says %v", s.after, want, x)
	}
	return ""
}

func (x expectation) String() string {
	text, err := json.Marshal(x.Vector)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

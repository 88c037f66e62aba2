package programmodel_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// expectation is what the model makes of a call.
type expectation struct {
	programmodel.LayeredVector
	after   []image
	charged []bool  // if all levels admit
	moves   []bool  // the expiry
	latest  []int64 // when the key may expire at the latest
}

func expect(c call, before []image, now int64) expectation {
	x := expectation{
		LayeredVector: programmodel.LayeredVector{Name: c.move, NowMillis: now, Arguments: c.arguments},
		after:         make([]image, len(before)), charged: make([]bool, len(before)),
		moves: make([]bool, len(before)), latest: make([]int64, len(before)),
	}
	for i, one := range before {
		x.after[i] = imageOf(one.key(), one, now)
	}
	for _, i := range c.named {
		x.Keys, x.Before = append(x.Keys, c.held[i].key), append(x.Before, before[i].key())
	}
	answers, keys := run(c.program, x.Keys, x.Before, c.arguments, now)
	x.Reply, x.After = programmodel.Wire(answers...), slices.Clone(keys)
	for place, i := range c.named {
		ttl := keys[place].TTLMillis
		x.charged[i] = true
		x.after[i], x.moves[i] = imageOf(keys[place], before[i], now), ttl != 0 && ttl != untouched
		x.Before[place].TTLMillis, x.After[place].TTLMillis = before[i].lives(now), x.after[i].lives(now)
	}
	for i, after := range x.after {
		x.latest[i] = after.expiresAt
	}
	return x
}

// run asks the model. That of a program for one level knows one key only; to it
// another number of them is as invalid as no argument.
func run(program string, names []string, keys []programmodel.Key, arguments []string, now int64) ([]reply.Reply, []programmodel.Key) {
	if program == programmodel.LayeredProgram {
		return programmodel.RunLayers(names, keys, arguments, now)
	}
	if len(names) != 1 {
		answer, _ := programmodel.Run(program, programmodel.Key{}, nil, now)
		return []reply.Reply{answer}, keys
	}
	answer, key := programmodel.Run(program, keys[0], arguments, now)
	return []reply.Reply{answer}, []programmodel.Key{key}
}

// difference says how what was seen differs from the expectation; "" if it does
// not.
func (x expectation) difference(s seen) string {
	if !slices.Equal(s.raw, x.Reply) {
		return fmt.Sprintf("reply is %v; the model says %v", s.raw, x)
	}
	for i, want := range x.after {
		got := s.after[i]
		if got.absent() && want.expiresAt > 0 && want.expiresAt <= s.received {
			continue
		}
		if got.expiresAt > want.expiresAt && got.expiresAt <= x.latest[i] {
			want.expiresAt = got.expiresAt
		}
		if !got.equals(want) {
			return fmt.Sprintf("key %d is %+v, must be %+v; the model says %v", i, got, want, x)
		}
	}
	return ""
}

func (x expectation) String() string {
	text, err := json.Marshal(x.LayeredVector)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

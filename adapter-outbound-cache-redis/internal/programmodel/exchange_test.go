package programmodel_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// call is one call of a program, and the keys as it finds them.
type call struct {
	program   string
	move      string // what happened before
	held      []held
	named     []int // which of the keys the call names, in this order
	arguments []string
}

// held is a key before a call.
type held struct {
	key      string
	logs     bool // it belongs to a program that keeps a log
	before   image
	arranged bool // before is not there yet
}

func (c call) String() string {
	text := fmt.Sprintf("%s after %q: keys %v, arguments %q", c.program, c.move, c.named, c.arguments)
	for i, held := range c.held {
		text += fmt.Sprintf(", key %d held %+v", i, held.before)
	}
	return text
}

// exchange is one call, sent in a pipeline together with what it takes to see
// what becomes of the keys.
type exchange struct {
	call
	found  []*redis.StringCmd // the values of keys of another type
	answer *redis.Cmd
	after  []look
}

func newExchange(ctx context.Context, pipe redis.Pipeliner, sha1 string, c call) exchange {
	e := exchange{call: c, found: make([]*redis.StringCmd, len(c.held)), after: make([]look, len(c.held))}
	for i, held := range e.held {
		if held.arranged {
			held.before.put(ctx, pipe, held.key)
		}
		if held.before.other != "" {
			e.found[i] = pipe.Dump(ctx, held.key)
		}
	}
	command := make([]any, 0, 3+len(e.named)+len(e.arguments))
	command = append(command, "evalsha", sha1, len(e.named))
	for _, i := range e.named {
		command = append(command, e.held[i].key)
	}
	for _, argument := range e.arguments {
		command = append(command, argument)
	}
	e.answer = redis.NewCmd(ctx, command...)
	_ = pipe.Process(ctx, e.answer)
	for i, held := range e.held {
		e.after[i] = lookAt(ctx, pipe, held.key, held.logs, held.before.other)
	}
	return e
}

// seen is what became of an exchange.
type seen struct {
	before    []image
	raw       []any // the reply
	answers   []reply.Reply
	malformed error // why it is none
	after     []image

	sent, received int64 // the test's clock before and after, in ms since the epoch
}

// see reads what the exchange came to once the pipeline has been executed. Its
// error is that of the test's own commands.
func (e exchange) see() (seen, error) {
	s := seen{before: make([]image, len(e.held)), after: make([]image, len(e.held))}
	var err error
	for i, held := range e.held {
		s.before[i] = held.before
		if e.found[i] != nil {
			if s.before[i].dump, err = e.found[i].Result(); err != nil {
				return seen{}, err
			}
		}
		if s.after[i], err = e.after[i].image(); err != nil {
			return seen{}, err
		}
	}
	if s.raw, s.malformed = e.answer.Slice(); s.malformed == nil {
		const fields = 7
		s.answers, s.malformed = reply.ParseLevels(s.raw, max(1, len(s.raw)/fields))
	}
	return s, nil
}

// lateness is how much later than the program's own clock the one may be by which
// a server decides whether a key has expired, or the other way round.
const lateness = 50

// possible are the keys that the program may have found, in every combination.
func (s seen) possible() [][]image {
	now := s.answers[0].ServerNow
	all := [][]image{nil}
	for _, before := range s.before {
		var longer [][]image
		for _, earlier := range all {
			for _, one := range before.possible(now, s.sent) {
				longer = append(longer, append(earlier[:len(earlier):len(earlier)], one))
			}
		}
		all = longer
	}
	return all
}

// possible are what the program may have found at now: a key that has just
// expired may have been there still, also one that has expired since the call was
// sent, if the server stood still before it looked at its clock. In the very
// millisecond of its expiry a key is there to whoever looks, but since Redis 8 not to
// the server's own sweep.
func (i image) possible(now, sent int64) []image {
	switch {
	case i.expiresAt == 0 || now < i.expiresAt:
		return []image{i}
	case now <= i.expiresAt+lateness, sent <= i.expiresAt:
		return []image{i, {}}
	default:
		return []image{{}}
	}
}

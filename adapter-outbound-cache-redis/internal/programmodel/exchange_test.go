package programmodel_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// exchange is one call, sent in a pipeline together with what it takes to see
// what becomes of the key.
type exchange struct {
	step
	found  *redis.StringCmd // the value of a key of another type
	answer *redis.Cmd
	after  look
}

func newExchange(ctx context.Context, pipe redis.Pipeliner, sha1, key string, next step) exchange {
	e := exchange{step: next}
	if e.arranged {
		e.before.put(ctx, pipe, key)
	}
	if e.before.other != "" {
		e.found = pipe.Dump(ctx, key)
	}
	command := make([]any, 0, 3+e.keys+len(e.arguments))
	command = append(command, "evalsha", sha1, e.keys)
	for range e.keys {
		command = append(command, key)
	}
	for _, argument := range e.arguments {
		command = append(command, argument)
	}
	e.answer = redis.NewCmd(ctx, command...)
	_ = pipe.Process(ctx, e.answer)
	e.after = lookAt(ctx, pipe, key, e.before.other)
	return e
}

func (e exchange) String() string {
	return fmt.Sprintf("after %q: %d keys, arguments %q, held %+v", e.move, e.keys, e.arguments, e.before)
}

// seen is what became of an exchange.
type seen struct {
	before    image
	raw       []any // the reply
	answer    reply.Reply
	malformed error // why it is none
	after     image

	sent, received int64 // the test's clock before and after, in ms since the epoch
}

// see reads what the exchange came to once the pipeline has been executed. Its
// error is that of the test's own commands.
func (e exchange) see() (seen, error) {
	s := seen{before: e.before}
	var err error
	if e.found != nil {
		if s.before.dump, err = e.found.Result(); err != nil {
			return seen{}, err
		}
	}
	if s.after, err = e.after.image(); err != nil {
		return seen{}, err
	}
	if s.raw, s.malformed = e.answer.Slice(); s.malformed == nil {
		s.answer, s.malformed = reply.Parse(s.raw)
	}
	return s, nil
}

// lateness is how much later than the program's own clock the one may be by which
// a server decides whether a key has expired, or the other way round.
const lateness = 50

// possible are the keys that the program may have found: one that has just
// expired may have been there still. In the very millisecond of its expiry it is
// there to whoever looks, but since Redis 8 not to the server's own sweep.
func (s seen) possible() []image {
	now := s.answer.ServerNow
	switch {
	case s.before.expiresAt == 0 || now < s.before.expiresAt:
		return []image{s.before}
	case now <= s.before.expiresAt+lateness:
		return []image{s.before, {}}
	default:
		return []image{{}}
	}
}

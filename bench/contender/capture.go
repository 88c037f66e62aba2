package contender

import (
	"context"
	"errors"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"example.com/weir/bench/store"
)

// RedisRateProgram is what redis_rate sends for one decision: the source of its
// program, and the arguments after the key. The library keeps both to itself, so
// they are read off what it sends.
func RedisRateProgram(ctx context.Context, address string) (source string, arguments []any, err error) {
	client := store.Connect(address)
	defer client.Close()
	return listen(client).hear(ctx)
}

// listen must come before any other hook of client.
func listen(client *redis.Client) *eavesdropper {
	e := &eavesdropper{client: client}
	client.AddHook(e)
	return e
}

func (e *eavesdropper) hear(ctx context.Context) (source string, arguments []any, err error) {
	if _, err := redis_rate.NewLimiter(e.client).Allow(ctx, "capture", RedisRateLimit()); err != nil {
		return "", nil, err
	}
	if len(e.eval) < afterKey {
		return "", nil, errors.New("redis_rate sent no program")
	}
	return e.eval[1].(string), e.eval[afterKey:], nil
}

// afterKey is where the arguments start: EVAL source 1 key argument….
const afterKey = 4

// eavesdropper answers EVALSHA as a server does that does not know the program,
// and remembers the EVAL that follows.
type eavesdropper struct {
	client *redis.Client
	eval   []any
}

var _ redis.Hook = (*eavesdropper)(nil)

func (*eavesdropper) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*eavesdropper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (e *eavesdropper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		switch command.Name() {
		case "evalsha":
			command.SetErr(unknownProgram{})
			return unknownProgram{}
		case "eval":
			e.eval = command.Args()
		}
		return next(ctx, command)
	}
}

// unknownProgram is the server's error reply.
type unknownProgram struct{}

var _ redis.Error = unknownProgram{}

// Error is what the server says.
func (unknownProgram) Error() string { return "NOSCRIPT no matching script" }

// RedisError marks it as an error of the server.
func (unknownProgram) RedisError() {}

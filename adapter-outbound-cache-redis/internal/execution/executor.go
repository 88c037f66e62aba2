// Package execution runs programs on a Redis server: by digest, once, and never
// by their source, since a program that was once sent by EVAL can be evicted
// from the server's script cache for good.
package execution

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// Executor runs programs over one client. It is safe for concurrent use.
type Executor struct {
	client *redis.Client
}

// NewExecutor runs programs over client, which stays the caller's.
func NewExecutor(client *redis.Client) *Executor { return &Executor{client: client} }

// Call is one program with everything in its place but the key and the last
// argument. It is prepared once and used many times.
type Call struct {
	program lua.Program
	args    []any
}

// keyAt is the position of the key in the arguments of EVALSHA.
const keyAt = 3

// NewCall prepares program with its leading arguments.
func NewCall(program lua.Program, arguments ...string) Call {
	args := []any{"EVALSHA", program.SHA1, "1", ""}
	for _, argument := range arguments {
		args = append(args, argument)
	}
	return Call{program: program, args: args}
}

// Run dispatches call for key, with last as its last argument, and returns the
// raw reply. It dispatches once; when the server does not know the program,
// which is certain, it loads it and dispatches once more. ctx bounds it all.
func (e *Executor) Run(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	raw, failed := e.dispatch(ctx, call, key, last)
	if failed == nil || !failed.Unloaded {
		return raw, failed
	}
	if failed := e.Load(ctx, call.program); failed != nil {
		return nil, failed
	}
	return e.dispatch(ctx, call, key, last)
}

func (e *Executor) dispatch(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	args := make([]any, len(call.args), len(call.args)+1)
	copy(args, call.args)
	args[keyAt] = key
	command := certainty.NewCommand(ctx, args, keyAt, last)
	err := e.client.Process(ctx, command)
	return command.Val(), command.Classify(err)
}

// Load makes programs known to the server. It changes no state of a limiter, so
// its failures are certain.
func (e *Executor) Load(ctx context.Context, programs ...lua.Program) *certainty.Failure {
	for _, program := range programs {
		if err := e.client.ScriptLoad(ctx, program.Source).Err(); err != nil {
			return certainty.ClassifyUndispatched(err)
		}
	}
	return nil
}

// Package execution runs programs on a Redis server: by digest, once, and never
// by their source, since a program that was once sent by EVAL can be evicted
// from the server's script cache for good.
package execution

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
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
// which is certain, it dispatches once more, together with the program. ctx
// bounds it all.
func (e *Executor) Run(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	command := call.command(ctx, key, last)
	failed := command.Classify(e.client.Process(ctx, command))
	if failed != nil && failed.Unloaded {
		return e.loadAndRun(ctx, call, key, last)
	}
	return command.Val(), e.explain(failed)
}

// loadAndRun sends program and call in one piece, so that a server which forgets
// its programs again and again has no moment for it in between.
func (e *Executor) loadAndRun(ctx context.Context, call Call, key string, last []byte) (any, *certainty.Failure) {
	pipe := e.client.Pipeline()
	load := pipe.ScriptLoad(ctx, call.program.Source)
	command := call.command(ctx, key, last)
	_ = pipe.Process(ctx, command)
	_, _ = pipe.Exec(ctx) // each command has its own error

	failed := command.Classify(command.Err())
	if failed != nil && failed.Unloaded && load.Err() != nil {
		return nil, certainty.ClassifyUndispatched(load.Err())
	}
	return command.Val(), e.explain(failed)
}

// explain tells a pool that is used up from a server that does not connect: both
// let the caller's time run out while it waits for a connection.
func (e *Executor) explain(failed *certainty.Failure) *certainty.Failure {
	if failed != nil && failed.Category == failure.Connection && errors.Is(failed.Err, context.DeadlineExceeded) &&
		int(e.client.PoolStats().TotalConns) >= e.client.Options().PoolSize {
		failed.Category = failure.Saturated
	}
	return failed
}

func (c Call) command(ctx context.Context, key string, last []byte) certainty.Command {
	args := make([]any, len(c.args), len(c.args)+1)
	copy(args, c.args)
	args[keyAt] = key
	return certainty.NewCommand(ctx, args, keyAt, last)
}

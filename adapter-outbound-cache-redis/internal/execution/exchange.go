package execution

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// evaluation is one call for one key, and in the end what became of it.
type evaluation struct {
	call    Call
	key     string
	last    []byte
	command certainty.Command

	value  any
	failed *certainty.Failure
}

func newEvaluation(ctx context.Context, call Call, key string, last []byte) *evaluation {
	return &evaluation{call: call, key: key, last: last, command: call.command(ctx, key, last)}
}

// exchange sends all evaluations in one piece and waits for the replies. What
// the server refuses because it does not know the program, it is sent once more.
func exchange(ctx context.Context, client *redis.Client, evaluations ...*evaluation) {
	if len(evaluations) == 1 {
		one := evaluations[0]
		one.failed = one.command.Classify(client.Process(ctx, one.command))
		one.value = one.command.Val()
	} else {
		send(ctx, client, nil, evaluations)
	}
	var unloaded []*evaluation
	for _, e := range evaluations {
		if e.failed != nil && e.failed.Unloaded {
			e.command = e.call.command(ctx, e.key, e.last)
			unloaded = append(unloaded, e)
		}
	}
	if len(unloaded) > 0 {
		send(ctx, client, programsOf(unloaded), unloaded)
	}
}

// send sends programs and evaluations in one piece, so that a server which
// forgets its programs again and again has no moment for it in between.
func send(ctx context.Context, client *redis.Client, programs []lua.Program, evaluations []*evaluation) {
	pipe := client.Pipeline()
	loads := make(map[string]*redis.StringCmd, len(programs))
	written := 0
	for _, program := range programs {
		loads[program.SHA1] = pipe.ScriptLoad(ctx, program.Source)
		written += sizeOfLoad(program)
	}
	for _, e := range evaluations {
		_ = pipe.Process(ctx, e.command)
	}
	_, broken := pipe.Exec(ctx)
	for _, e := range evaluations {
		written += e.call.sizeOf(e.key, e.last)
		err := e.command.Err()
		if err == nil && !e.command.Dispatched() {
			err = broken // what a server says while it is connected to is put on no command
		}
		e.value, e.failed = e.command.Val(), e.command.ClassifyInBatch(err, written)
		if load := loads[e.call.program.SHA1]; e.failed != nil && e.failed.Unloaded && load != nil && load.Err() != nil {
			e.failed = certainty.ClassifyUndispatched(load.Err())
		}
	}
}

func programsOf(evaluations []*evaluation) []lua.Program {
	var programs []lua.Program
	for _, e := range evaluations {
		if !slices.Contains(programs, e.call.program) {
			programs = append(programs, e.call.program)
		}
	}
	return programs
}

func sizeOfLoad(program lua.Program) int {
	return len("*3\r\n") + wordSize(len("script")) + wordSize(len("load")) + wordSize(len(program.Source))
}

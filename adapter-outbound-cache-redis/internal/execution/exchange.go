package execution

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
)

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
		// One that was withdrawn stays so, although the server has refused it.
		if e.failed != nil && e.failed.Unloaded && e.command.Dispatched() {
			e.renew(ctx)
			unloaded = append(unloaded, e)
		}
	}
	if len(unloaded) > 0 {
		send(ctx, client, programsOf(unloaded), unloaded)
	}
	var failures []*certainty.Failure
	for _, e := range evaluations {
		if e.failed != nil {
			failures = append(failures, e.failed)
		}
	}
	explain(client, isFree, failures...)
}

// send sends programs and evaluations in one piece, so that a server which
// forgets its programs again and again has next to no moment for it in between.
func send(ctx context.Context, client *redis.Client, programs []lua.Program, evaluations []*evaluation) {
	pipe := client.Pipeline()
	loads := make(map[string]*redis.StringCmd, len(programs))
	end := 0 // of what has been looked at, on the wire
	for _, program := range programs {
		loads[program.SHA1] = pipe.ScriptLoad(ctx, program.Source)
		end += sizeOfLoad(program)
	}
	for _, e := range evaluations {
		_ = pipe.Process(ctx, e.command)
	}
	_, broken := pipe.Exec(ctx)
	for _, e := range evaluations {
		end += e.size()
		err := e.command.Err()
		if err == nil && !e.command.Dispatched() {
			err = broken // what a server says while it is connected to is put on no command
		}
		e.value, e.failed = e.command.Val(), e.command.ClassifyInBatch(err, end)
		if load := loads[e.program.SHA1]; e.failed != nil && e.failed.Unloaded && load != nil && load.Err() != nil {
			e.failed = certainty.ClassifyUndispatched(load.Err())
		}
	}
}

func programsOf(evaluations []*evaluation) []lua.Program {
	var programs []lua.Program
	for _, e := range evaluations {
		if !slices.Contains(programs, e.program) {
			programs = append(programs, e.program)
		}
	}
	return programs
}

// isFree: a connection was there to be taken.
func isFree(client *redis.Client) bool { return client.PoolStats().IdleConns > 0 }

// explain tells failures to send for a reason of this process, which is so if
// saturated says it of client, from a server that does not connect: both let the time
// run out before a call is sent.
func explain(client *redis.Client, saturated func(*redis.Client) bool, failures ...*certainty.Failure) {
	failures = slices.DeleteFunc(failures, func(failed *certainty.Failure) bool {
		return failed == nil || failed.Category != failure.Connection || !errors.Is(failed.Err, context.DeadlineExceeded)
	})
	if len(failures) == 0 || !saturated(client) {
		return
	}
	for _, failed := range failures {
		failed.Category = failure.Saturated
	}
}

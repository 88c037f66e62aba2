package execution

import (
	"context"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// evaluation is one run of a program, and in the end what became of it.
type evaluation struct {
	program  lua.Program
	key      string
	argument []byte
	command  certainty.Command

	value  any
	failed *certainty.Failure
}

func newEvaluation(ctx context.Context, program lua.Program, key string, argument []byte) *evaluation {
	e := &evaluation{program: program, key: key, argument: argument}
	e.renew(ctx)
	return e
}

// renew makes a command that has not been sent.
func (e *evaluation) renew(ctx context.Context) {
	const keyAt = 3
	// The digest goes as a pointer, which costs no allocation.
	args := append(make([]any, 0, keyAt+2), "EVALSHA", &e.program.SHA1, "1", e.key)
	e.command = certainty.NewCommand(ctx, args, keyAt, e.argument)
}

// size is the length of the command on the wire. One that was withdrawn goes out
// without its argument, if at all.
func (e *evaluation) size() int {
	argument := e.argument
	if e.command.Withdrawn() {
		argument = nil
	}
	return sizeOf(len("EVALSHA"), len(e.program.SHA1), len("1"), len(e.key), len(argument))
}

func sizeOfLoad(program lua.Program) int {
	return sizeOf(len("script"), len("load"), len(program.Source))
}

// sizeOf is the length on the wire of a command of words with these lengths.
func sizeOf(words ...int) int {
	size := len("*\r\n") + digits(len(words))
	for _, n := range words {
		size += len("$\r\n\r\n") + digits(n) + n
	}
	return size
}

// digits is the length of n as text.
func digits(n int) int {
	count := 1
	for ; n > 9; n /= 10 {
		count++
	}
	return count
}

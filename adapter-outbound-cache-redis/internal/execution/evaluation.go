package execution

import (
	"context"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// evaluation is one run of a program, and in the end what became of it.
type evaluation struct {
	program  lua.Program
	operands []Operand
	command  certainty.Command

	value  any
	failed *certainty.Failure
}

func newEvaluation(ctx context.Context, program lua.Program, operands []Operand) *evaluation {
	e := &evaluation{program: program, operands: operands}
	e.renew(ctx)
	return e
}

// renew makes a command that has not been sent.
func (e *evaluation) renew(ctx context.Context) {
	const keyAt = 3
	n := len(e.operands)
	// The digest goes as a pointer, which costs no allocation.
	args := append(make([]any, 0, keyAt+2*n), "EVALSHA", &e.program.SHA1, n)
	for i := range e.operands {
		args = append(args, &e.operands[i].Key)
	}
	for _, operand := range e.operands[:n-1] {
		args = append(args, operand.Argument)
	}
	e.command = certainty.NewCommand(ctx, args, keyAt, e.operands[n-1].Argument)
}

// size is the length of the command on the wire. One that was withdrawn goes out
// without its last argument, if at all.
func (e *evaluation) size() int {
	n := len(e.operands)
	size := sizeOfArray(3+2*n) + sizeOf(len("EVALSHA")) + sizeOf(len(e.program.SHA1)) + sizeOf(digits(n))
	for _, operand := range e.operands {
		size += sizeOf(len(operand.Key)) + sizeOf(len(operand.Argument))
	}
	if last := len(e.operands[n-1].Argument); e.command.Withdrawn() {
		size += sizeOf(0) - sizeOf(last)
	}
	return size
}

func sizeOfLoad(program lua.Program) int {
	return sizeOfArray(3) + sizeOf(len("script")) + sizeOf(len("load")) + sizeOf(len(program.Source))
}

// sizeOfArray is the length on the wire of what precedes the words of a command.
func sizeOfArray(words int) int { return len("*\r\n") + digits(words) }

// sizeOf is the length on the wire of a word with n bytes.
func sizeOf(n int) int { return len("$\r\n\r\n") + digits(n) + n }

// digits is the length of n as text.
func digits(n int) int {
	count := 1
	for ; n > 9; n /= 10 {
		count++
	}
	return count
}

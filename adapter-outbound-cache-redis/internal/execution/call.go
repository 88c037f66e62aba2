package execution

import (
	"context"
	"strconv"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// Call is one program with everything in its place but the key and the last
// argument. It is prepared once and used many times.
type Call struct {
	program lua.Program
	args    []any
	size    int // in bytes on the wire, without key and last argument
}

// keyAt is the position of the key in the arguments of EVALSHA.
const keyAt = 3

// NewCall prepares program with its leading arguments.
func NewCall(program lua.Program, arguments ...string) Call {
	const key = ""
	words := append([]string{"EVALSHA", program.SHA1, "1", key}, arguments...)
	call := Call{program: program, args: make([]any, len(words))}
	for i, word := range words {
		call.args[i] = word
		if i != keyAt {
			call.size += wordSize(len(word))
		}
	}
	call.size += len("*\r\n") + digits(len(words)+1)
	return call
}

func (c Call) command(ctx context.Context, key string, last []byte) certainty.Command {
	args := make([]any, len(c.args), len(c.args)+1)
	copy(args, c.args)
	args[keyAt] = key
	return certainty.NewCommand(ctx, args, keyAt, last)
}

// sizeOf is the length of the command on the wire: at most, since a withdrawn
// one is shorter.
func (c Call) sizeOf(key string, last []byte) int {
	return c.size + wordSize(len(key)) + wordSize(len(last))
}

// wordSize is the length on the wire of a bulk string of n bytes.
func wordSize(n int) int { return len("$\r\n\r\n") + digits(n) + n }

func digits(n int) int { return len(strconv.Itoa(n)) }

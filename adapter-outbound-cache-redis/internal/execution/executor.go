// Package execution runs programs on a Redis server: by digest, once, and never
// by their source, since a program that was once sent by EVAL can be evicted
// from the server's script cache for good.
//
// [Pooled] sends each evaluation over a connection of its own. [Batched] lets
// evaluations of the same moment share the wire.
package execution

import (
	"context"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// Executor runs programs. It is safe for concurrent use.
type Executor interface {
	// Run dispatches program with operands, one at least, and returns the raw
	// reply. It dispatches once; when the server does not know the program, which
	// is certain, it dispatches once more, together with the program. It returns
	// some milliseconds after bound at the latest, which is not after ctx's deadline.
	//
	// If its last argument is empty a program must have no effect: a call that is
	// withdrawn at the last moment may be sent with one.
	Run(ctx context.Context, bound time.Time, program lua.Program, operands ...Operand) (any, *certainty.Failure)
}

// Operand is a key of a program's call, and the argument that goes with it.
type Operand struct {
	Key      string
	Argument []byte
}

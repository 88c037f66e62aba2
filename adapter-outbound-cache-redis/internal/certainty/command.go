// Package certainty tells, for every way in which one command can fail, whether
// the server may have executed it.
//
// An error value alone does not tell: a connection that breaks in its handshake
// and one that breaks after the request was read both read "EOF". So the phase
// is marked instead. The client library serialises a command's arguments only
// once it holds a connection that is ready to take it; an argument that notes
// its own serialisation therefore marks the moment of dispatch. A wrapper around
// the connection marks write errors: one command that was not written whole
// cannot have been executed. The command refuses to be sent again, since the
// library would repeat it after a lost reply.
package certainty

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Command is one call that is dispatched at most once. It is used once.
type Command struct {
	*redis.Cmd
	marker *marker
}

// NewCommand prepares a command of args followed by last, which carries the
// marker. keyAt is the position of the first key in args.
func NewCommand(ctx context.Context, args []any, keyAt int8, last []byte) Command {
	m := &marker{payload: last}
	cmd := redis.NewCmd(ctx, append(args, m)...)
	cmd.SetFirstKeyPos(keyAt)
	return Command{Cmd: cmd, marker: m}
}

// NoRetry tells the client library never to repeat the command.
func (Command) NoRetry() bool { return true }

// Dispatched reports whether the command was handed to a connection.
func (c Command) Dispatched() bool { return c.marker.serialised.Load() }

// marker is an argument that notes when it is serialised.
type marker struct {
	payload    []byte
	serialised atomic.Bool
}

// MarshalBinary is called by the client library as it writes the command.
func (m *marker) MarshalBinary() ([]byte, error) {
	m.serialised.Store(true)
	return m.payload, nil
}

// String lets hooks print the command without marking it.
func (m *marker) String() string { return string(m.payload) }

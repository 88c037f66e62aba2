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
	"time"

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

// SetErr is called by the client library, with nil when it has read a reply. When
// a batch breaks, it puts the error of one command on all of them, those that
// were answered included; so an answer is noted here.
func (c Command) SetErr(err error) {
	if err == nil && c.Val() != nil {
		c.marker.answered = true
	}
	c.Cmd.SetErr(err)
}

// Dispatched reports whether the command was handed to a connection.
func (c Command) Dispatched() bool { return c.marker.phase.Load() == dispatched }

// Withdraw takes the command back, and reports whether that was still possible.
// If so it will never have an effect: somebody who has it in hand and sends it
// nevertheless sends it with an empty last argument, which the program must
// refuse.
func (c Command) Withdraw() bool { return c.marker.phase.CompareAndSwap(waiting, withdrawn) }

// Withdrawn reports whether the command was taken back.
func (c Command) Withdrawn() bool { return c.marker.phase.Load() == withdrawn }

// The phases of a command. It leaves the first one once.
const (
	waiting int32 = iota
	dispatched
	withdrawn
)

// marker is an argument that notes when it is serialised.
type marker struct {
	payload  []byte
	phase    atomic.Int32
	sent     time.Time // once dispatched
	answered bool
}

// MarshalBinary is called by the client library as it writes the command.
func (m *marker) MarshalBinary() ([]byte, error) {
	if m.phase.CompareAndSwap(waiting, dispatched) {
		m.sent = time.Now()
	}
	if m.phase.Load() == withdrawn {
		return nil, nil
	}
	return m.payload, nil
}

// String lets hooks print the command without marking it.
func (m *marker) String() string { return string(m.payload) }

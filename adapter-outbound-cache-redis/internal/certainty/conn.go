package certainty

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// WriteError says that a request was not handed to the network whole.
type WriteError struct {
	Written, Length int
	Err             error
}

// Error gives the share that was written and the cause.
func (e *WriteError) Error() string {
	return fmt.Sprintf("wrote %d of %d bytes: %v", e.Written, e.Length, e.Err)
}

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Dial is a dialing function as [net.Dialer.DialContext].
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// MarkWrites wraps the connections of dial so that failed writes are told apart
// as [WriteError].
func MarkWrites(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		marked := writeMarked{conn}
		if raw, ok := conn.(syscall.Conn); ok {
			return probeable{marked, raw}, nil
		}
		return marked, nil
	}
}

type writeMarked struct{ net.Conn }

func (c writeMarked) Write(request []byte) (int, error) {
	n, err := c.Conn.Write(request)
	if err != nil {
		err = &WriteError{Written: n, Length: len(request), Err: err}
	}
	return n, err
}

// probeable keeps the raw connection in reach: the client library peeks at it to
// drop a pooled connection that the server has closed, which otherwise would
// swallow a command and leave its fate in doubt.
type probeable struct {
	writeMarked
	raw syscall.Conn
}

func (c probeable) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

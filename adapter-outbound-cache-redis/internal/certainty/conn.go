package certainty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
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
// as [WriteError], and so that a reply which has arrived in time is read.
func MarkWrites(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		marked := &marked{Conn: conn}
		if raw, ok := conn.(syscall.Conn); ok {
			return probeable{marked, raw}, nil
		}
		if raw, ok := below(conn); ok {
			return encrypted{marked, raw}, nil
		}
		return marked, nil
	}
}

// below is the raw connection under one of crypto/tls.
func below(conn net.Conn) (syscall.Conn, bool) {
	encrypted, ok := conn.(interface{ NetConn() net.Conn })
	if !ok {
		return nil, false
	}
	raw, ok := encrypted.NetConn().(syscall.Conn)
	return raw, ok
}

// marked tells failed writes apart, and reads what has arrived by the deadline even
// if this process comes too late for it: in one that has too much to do, the
// deadline is noticed before the reply that has long been there, and the server
// would seem to be silent.
type marked struct {
	net.Conn

	late bool // since the deadline was set
}

func (c *marked) Write(request []byte) (int, error) {
	n, err := c.Conn.Write(request)
	if err != nil {
		err = &WriteError{Written: n, Length: len(request), Err: err}
	}
	return n, err
}

// lateness is how long a read takes that need not wait.
const lateness = time.Millisecond

func (c *marked) Read(reply []byte) (int, error) {
	n, err := c.Conn.Read(reply)
	if n > 0 || c.late || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	c.late = true
	if err := c.Conn.SetReadDeadline(time.Now().Add(lateness)); err != nil {
		return 0, err
	}
	return c.Conn.Read(reply)
}

func (c *marked) SetReadDeadline(deadline time.Time) error {
	c.late = false
	return c.Conn.SetReadDeadline(deadline)
}

func (c *marked) SetDeadline(deadline time.Time) error {
	c.late = false
	return c.Conn.SetDeadline(deadline)
}

// probeable keeps the raw connection in reach: the client library peeks at it to
// drop a pooled connection that the server has closed, which otherwise would
// swallow a command and leave its fate in doubt.
type probeable struct {
	*marked
	raw syscall.Conn
}

func (c probeable) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// encrypted keeps the raw connection out of the library's reach: a record of TLS
// itself would look to it like a reply. Instead a request is not even begun on a
// connection that the server has closed. It is a failure all the same, but one
// that certainly charged nothing.
type encrypted struct {
	*marked
	raw syscall.Conn
}

func (c encrypted) Write(request []byte) (int, error) {
	if isClosed(c.raw) {
		return 0, &WriteError{Length: len(request), Err: fmt.Errorf("the server has closed the connection: %w", c.lastWords())}
	}
	return c.marked.Write(request)
}

// lastWords is what the server said before it closed the connection, such as that
// it does not know the client's certificate: with TLS 1.3 that comes after the
// handshake. Whatever there is has arrived, so reading does not wait.
func (c encrypted) lastWords() error {
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return err
	}
	return io.EOF // it answered something that nobody asked for
}

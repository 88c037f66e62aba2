package certainty_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/shared-contract/failure"
)

// Ensure that every error of a write tells how much was written, that success is
// left alone, and that the raw connection stays in reach exactly where there is
// one.
func TestMarkWrites(t *testing.T) {
	cause := errors.New("broken pipe")
	dial := func(conn net.Conn) net.Conn {
		marked, err := certainty.MarkWrites(func(context.Context, string, string) (net.Conn, error) { return conn, nil })(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		return marked
	}
	n, err := dial(&brokenConn{writes: 3, err: cause}).Write([]byte("EVALSHA"))
	var unwritten *certainty.WriteError
	if !errors.As(err, &unwritten) || n != 3 || unwritten.Written != 3 || unwritten.Length != 7 || !errors.Is(err, cause) {
		t.Errorf("wrote %d, error %v", n, err)
	}
	if n, err := dial(&brokenConn{writes: 7}).Write([]byte("EVALSHA")); n != 7 || err != nil {
		t.Errorf("wrote %d, error %v", n, err)
	}
	if _, ok := dial(&brokenConn{}).(syscall.Conn); ok {
		t.Error("a connection without a raw one claims to have it")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	tcp, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if _, ok := dial(tcp).(syscall.Conn); !ok {
		t.Error("the raw connection is out of reach")
	}
	if _, err := certainty.MarkWrites(func(context.Context, string, string) (net.Conn, error) { return nil, cause })(t.Context(), "tcp", ""); !errors.Is(err, cause) {
		t.Errorf("dialing says %v", err)
	}
}

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// tries is how often a test does again what a machine that stands still for a
// moment can spoil.
const tries = 50

// lateReads is how many replies are read late, of which such a machine may spoil a few.
const lateReads = 20

// Ensure that what has arrived is read although the deadline has passed, and that
// a server which says nothing gains next to no time by that, however often it is
// read.
func TestReadsWhatHasArrived(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := certainty.MarkWrites((&net.Dialer{}).DialContext)(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, setDeadline := range []func(time.Time) error{conn.SetReadDeadline, conn.SetDeadline} {
		inTime := 0
		for range lateReads {
			if _, err := server.Write([]byte("reply")); err != nil {
				t.Fatal(err)
			}
			if readsLate(t, conn, setDeadline, "reply") {
				inTime++
			}
		}
		if inTime < lateReads*9/10 {
			t.Errorf("%d of %d replies that had arrived were read late", inTime, lateReads)
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	const reads = 100
	quickest := patience
	for range tries {
		began := time.Now()
		for range reads {
			if n, err := conn.Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("read %d bytes, error %v", n, err)
			}
		}
		if quickest = min(quickest, time.Since(began)); quickest < reads*time.Millisecond/2 {
			return
		}
	}
	t.Errorf("%d reads in vain took %v or more each time", reads, quickest)
}

// readsLate reports whether a reply that has arrived is read when the deadline has
// passed. In any case it is read in the end.
func readsLate(t *testing.T, conn net.Conn, setDeadline func(time.Time) error, want string) bool {
	t.Helper()
	if n := awaitArrival(t, conn, len(want)); n != len(want) {
		t.Fatalf("%d bytes have arrived, must be %d", n, len(want))
	}
	reply := make([]byte, 10)
	for _, late := range []bool{true, false} {
		deadline := time.Now().Add(patience)
		if late {
			deadline = time.Now().Add(-time.Second)
		}
		if err := setDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(reply)
		if late && n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if string(reply[:n]) != want || err != nil {
			t.Fatalf("read %q, error %v", reply[:n], err)
		}
		return late
	}
	return false
}

// brokenConn takes a number of bytes and then fails.
type brokenConn struct {
	net.Conn
	writes int
	err    error
}

func (c *brokenConn) Write([]byte) (int, error) { return c.writes, c.err }

// client takes connections from dial.
func client(t *testing.T, dial certainty.Dial) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: "fake", Protocol: 2, MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
		ReadTimeout: patience, WriteTimeout: patience, DialTimeout: patience, PoolTimeout: patience,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   certainty.MarkWrites(dial),
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func evaluation(ctx context.Context) certainty.Command {
	return certainty.NewCommand(ctx, []any{"EVALSHA", "0", "1", "key"}, 3, []byte("last"))
}

func answersOK() fakeredis.Behaviour {
	return fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: "+OK\r\n"} })
}

// Ensure that a command which was not written whole, or not at all, is known not
// to have been executed, although it was handed to a connection.
func TestFailedWrites(t *testing.T) {
	for name, written := range map[string]int{"nothing": 0, "a part": 10} {
		t.Run(name, func(t *testing.T) {
			server := fakeredis.Start(t, answersOK())
			c := client(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", server.Addr)
				return &cutConn{Conn: conn, written: written}, err
			})
			command := evaluation(t.Context())
			failed := command.Classify(c.Process(t.Context(), command))
			if failed == nil || !failed.Certain || failed.Category != failure.Connection || !command.Dispatched() {
				t.Errorf("failure is %v, dispatched %v", failed, command.Dispatched())
			}
			if n := server.Evaluations(); n != 0 {
				t.Errorf("%d evaluations arrived", n)
			}
		})
	}
}

// cutConn writes a part of an evaluation and then fails.
type cutConn struct {
	net.Conn
	written int
}

func (c *cutConn) Write(request []byte) (int, error) {
	if !bytes.Contains(request, []byte("EVALSHA")) {
		return c.Conn.Write(request)
	}
	n, err := c.Conn.Write(request[:c.written])
	return n, errors.Join(err, syscall.EPIPE)
}

// Ensure that a lost reply is in doubt and that the command was sent once.
func TestLostReply(t *testing.T) {
	server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Close: true} }))
	c := client(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Addr)
	})
	command := evaluation(t.Context())
	failed := command.Classify(c.Process(t.Context(), command))
	if failed == nil || failed.Certain || failed.Category != failure.NoReply {
		t.Errorf("failure is %v", failed)
	}
	if n := server.Evaluations(); n != 1 {
		t.Errorf("%d evaluations arrived, must be 1", n)
	}
}

// Ensure that a pooled connection which the server has closed meanwhile is not
// used: it would leave the fate of the next command in doubt.
func TestStaleConnection(t *testing.T) {
	server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
		return fakeredis.Reply{Text: "+OK\r\n", Close: true}
	}))
	var last net.Conn
	c := client(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", server.Addr)
		last = conn
		return conn, err
	})
	for range 5 {
		command := evaluation(t.Context())
		if failed := command.Classify(c.Process(t.Context(), command)); failed != nil {
			t.Fatalf("failure is %v", failed)
		}
		awaitEnd(t, last)
	}
	if n := server.Evaluations(); n != 5 {
		t.Errorf("%d evaluations arrived, must be 5", n)
	}
}

// awaitEnd waits until the other side's end of the connection has arrived, and
// nothing else has.
func awaitEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	if n := awaitArrival(t, conn, 1); n != 0 {
		t.Fatalf("%d bytes have arrived", n)
	}
}

// awaitArrival waits until as many bytes have arrived, or the end, and gives how
// many have. They are not read.
func awaitArrival(t *testing.T, conn net.Conn, most int) (n int) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var peeked error
	err = raw.Read(func(descriptor uintptr) bool {
		n, _, peeked = syscall.Recvfrom(int(descriptor), make([]byte, most), syscall.MSG_PEEK)
		return !errors.Is(peeked, syscall.EAGAIN)
	})
	if err := errors.Join(err, peeked); err != nil {
		t.Fatal(err)
	}
	return n
}

// Ensure that printing a command does not mark it as dispatched.
func TestPrintingDoesNotMark(t *testing.T) {
	command := evaluation(t.Context())
	if text := command.String(); text == "" || command.Dispatched() {
		t.Errorf("%q marks the command", text)
	}
}

package redistest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// answerTimeout bounds the time from start to the first answer.
	answerTimeout = 30 * time.Second
	// operationTimeout bounds everything else that is done to a server.
	operationTimeout = 30 * time.Second
	// attemptTimeout bounds one question whether a server is there.
	attemptTimeout = time.Second
	// pollInterval is the pause between two questions whether a server is there.
	pollInterval = 10 * time.Millisecond
)

// errForeign: the port belongs to a server that was not started here.
var errForeign = errors.New("another server has the port")

// Server is a real server. Its methods are called from the goroutine of the
// test, and end the test if they fail.
type Server struct {
	// Addr is the server's host:port, the same for its whole life.
	Addr string
	// Lane is the lane that the server belongs to.
	Lane Lane

	machine machine
	tls     *tls.Config // nil: it speaks in clear
	shared  bool
}

// newServer starts a server and waits until it answers this machine: a
// container's log may say "ready" before its port is.
func newServer(ctx context.Context, lane Lane, how setup) (*Server, error) {
	machine, err := launch(ctx, lane, how)
	if err != nil {
		return nil, fmt.Errorf("lane %s: %w", lane, err)
	}
	s := &Server{Addr: machine.address(), Lane: lane, machine: machine, tls: how.client()}
	if err := s.awaitAnswer(ctx); err != nil {
		_ = machine.remove(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// Client connects to the server for what a test wants to see or set up there.
// It never retries, and is closed when the test ends.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	client := newClient(s.Addr, s.tls)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Pause freezes the server: connections stay open and are even accepted, and
// nothing is answered until Resume. Only for a server from [Start].
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.do(tb, "pause", s.machine.pause)
}

// Resume ends a Pause. What was sent meanwhile is executed.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.do(tb, "resume", s.machine.resume)
}

// Stop kills the server without grace; its data is lost, but for what it was told
// to keep on disk. From then on its port refuses connections. Only for a server
// from [Start].
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.do(tb, "stop", s.machine.kill)
}

// Restart starts the server after a Stop, at the same address, and waits until
// it answers. It is empty, but for what it was told to keep on disk.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.do(tb, "restart", func(ctx context.Context) error {
		if err := s.machine.start(ctx); err != nil {
			return err
		}
		return s.awaitAnswer(ctx)
	})
}

func (s *Server) do(tb testing.TB, name string, operation func(context.Context) error) {
	tb.Helper()
	if s.shared {
		tb.Fatalf("cannot %s the server that all tests share: use redistest.Start", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	if err := operation(ctx); err != nil {
		tb.Fatalf("%s the server of lane %s: %v", name, s.Lane, err)
	}
}

func (s *Server) awaitAnswer(ctx context.Context) error {
	deadline := time.Now().Add(answerTimeout)
	for {
		err := s.answers(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, errForeign) || time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("the server of lane %s does not answer at %s: %w; it said:\n%s",
				s.Lane, s.Addr, err, s.machine.log(context.WithoutCancel(ctx)))
		}
		time.Sleep(pollInterval) //nolint:forbidigo // this is the poll with a deadline
	}
}

// answers reports what keeps the server from answering; nil if it does. Between
// the choice of a port and the start somebody else may have taken it, and then
// another server's answer is worth nothing.
func (s *Server) answers(ctx context.Context) error {
	if err := s.ping(ctx); err != nil {
		return err
	}
	want := s.machine.processID()
	if want == 0 {
		return nil
	}
	client := newClient(s.Addr, s.tls)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	info, err := client.InfoMap(ctx, "server").Result()
	if redis.HasErrorPrefix(err, "NOAUTH") {
		return nil // it tells nothing without a password
	}
	if err != nil {
		return err
	}
	if got := info["Server"]["process_id"]; got != strconv.Itoa(want) {
		return fmt.Errorf("%w: process %s answers, not %d", errForeign, got, want)
	}
	return nil
}

// ping asks over a connection of its own, and without the client, which would
// log each attempt that fails. A server that wants a password answers too.
func (s *Server) ping(ctx context.Context) error {
	connection, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(attemptTimeout)); err != nil {
		return err
	}
	if _, err := connection.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(reply, "+PONG") && !strings.HasPrefix(reply, "-NOAUTH") {
		return fmt.Errorf("reply %q to PING", reply)
	}
	return nil
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: attemptTimeout}
	if s.tls == nil {
		return dialer.DialContext(ctx, "tcp", s.Addr)
	}
	encrypted := &tls.Dialer{NetDialer: dialer, Config: s.tls}
	return encrypted.DialContext(ctx, "tcp", s.Addr)
}

func newClient(addr string, secure *tls.Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     addr,
		TLSConfig:                secure,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              operationTimeout,
		ReadTimeout:              operationTimeout,
		WriteTimeout:             operationTimeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

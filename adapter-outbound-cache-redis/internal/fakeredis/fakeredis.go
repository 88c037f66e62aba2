// Package fakeredis is a server for tests that speaks just enough of the Redis
// protocol to fail at a chosen point of the dialogue, and counts what reached it.
package fakeredis

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Reply is what the server does about one command: it writes Text as it is, and
// closes the connection if Close is set. The zero Reply stays silent.
type Reply struct {
	Text  string
	Close bool
}

// Behaviour answers a command, which is given in upper case with its arguments.
type Behaviour func(command string, arguments []string) Reply

// Server is a fake server.
type Server struct {
	Addr string

	evaluations atomic.Int64
	accepted    atomic.Int64
	behaviour   func(connection int) Behaviour
	listener    net.Listener
	connections sync.WaitGroup
}

// Evaluations counts the EVALSHA commands that were read whole.
func (s *Server) Evaluations() int { return int(s.evaluations.Load()) }

// Connections counts the connections that were accepted so far.
func (s *Server) Connections() int { return int(s.accepted.Load()) }

// Polite answers the commands of a handshake and of loading programs as a real
// server does, and leaves EVALSHA to evaluate.
func Polite(evaluate Behaviour) Behaviour {
	return func(command string, arguments []string) Reply {
		switch command {
		case "HELLO":
			return Reply{Text: "*2\r\n$5\r\nproto\r\n:2\r\n"}
		case "SCRIPT":
			return Reply{Text: "$40\r\n" + strings.Repeat("0", 40) + "\r\n"}
		case "EVALSHA":
			return evaluate(command, arguments)
		}
		return Reply{Text: "+OK\r\n"}
	}
}

// Start starts a server that ends with the test.
func Start(tb testing.TB, behaviour Behaviour) *Server {
	tb.Helper()
	return StartEach(tb, nil, func(int) Behaviour { return behaviour })
}

// StartTLS is Start for a server that speaks TLS.
func StartTLS(tb testing.TB, config *tls.Config, behaviour Behaviour) *Server {
	tb.Helper()
	return StartEach(tb, config, func(int) Behaviour { return behaviour })
}

// StartEach starts a server that behaves differently on each connection, of
// which the first is number 1. Without a config it speaks no TLS.
func StartEach(tb testing.TB, config *tls.Config, behaviour func(connection int) Behaviour) *Server {
	tb.Helper()
	listener := listen(tb)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	s := &Server{Addr: listener.Addr().String(), behaviour: behaviour, listener: listener}
	var open sync.Map
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			number := int(s.accepted.Add(1))
			open.Store(conn, nil)
			s.connections.Go(func() { s.serve(conn, s.behaviour(number)) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		open.Range(func(conn, _ any) bool { return conn.(net.Conn).Close() == nil || true })
		s.connections.Wait()
	})
	return s
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

func (s *Server) serve(conn net.Conn, behaviour Behaviour) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		command, arguments, err := read(reader)
		if err != nil {
			return
		}
		if command == "EVALSHA" {
			s.evaluations.Add(1)
		}
		reply := behaviour(command, arguments)
		if _, err := io.WriteString(conn, reply.Text); err != nil || reply.Close {
			return
		}
	}
}

// read reads one command, an array of bulk strings.
func read(reader *bufio.Reader) (string, []string, error) {
	length, err := header(reader, '*')
	if err != nil || length < 1 {
		return "", nil, fmt.Errorf("no command: %w", err)
	}
	words := make([]string, length)
	for i := range words {
		size, err := header(reader, '$')
		if err != nil {
			return "", nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(reader, word); err != nil {
			return "", nil, err
		}
		words[i] = string(word[:size])
	}
	return strings.ToUpper(words[0]), words[1:], nil
}

func header(reader *bufio.Reader, kind byte) (int, error) {
	line, err := reader.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q does not start with %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

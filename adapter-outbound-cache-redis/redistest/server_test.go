package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
)

// Ensure that the error of a server that does not answer tells what it said.
func TestServerThatDoesNotAnswer(t *testing.T) {
	directory := t.TempDir()
	path, said := filepath.Join(directory, "redis-server"), filepath.Join(directory, "said")
	script := "#!/bin/sh\necho 'Bad directive or wrong number of arguments'\ntouch '" + said + "'\nexit 1\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(said); err == nil {
				giveUp()
			}
			time.Sleep(pollInterval)
		}
	}()
	_, err := newServer(ctx, Lane{name: "broken", path: path}, setup{})
	if err == nil || !strings.Contains(err.Error(), "Bad directive") || !strings.Contains(err.Error(), "lane broken") {
		t.Errorf("error %v, want the lane and what the server said", err)
	}
}

// Ensure that the shared servers need somebody who ends them.
func TestAClosedPoolLendsNothing(t *testing.T) {
	var closed pool
	if _, _, err := closed.take(t.Context(), Lane{name: "any"}); !errors.Is(err, errNoMain) {
		t.Errorf("error %v, want %v", err, errNoMain)
	}
}

// Ensure that ports lie outside the ranges of local ports.
func TestFreePort(t *testing.T) {
	port, err := freePort(t.Context())
	if err != nil || port.number < firstPort || port.number >= pastPorts {
		t.Errorf("port %v, error %v", port, err)
	}
}

// Ensure that a port is nobody else's until it is given back.
func TestPortIsKept(t *testing.T) {
	one, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	take := func() error {
		taken, err := net.ListenPacket("udp", net.JoinHostPort("127.0.0.1", one.String()))
		if err != nil {
			return err
		}
		return taken.Close()
	}
	if err := take(); err == nil {
		t.Error("it is taken by somebody else")
	}
	one.giveBack()
	if err := take(); err != nil {
		t.Error(err)
	}
}

// Ensure that a port which somebody else's server has taken is not mistaken for
// the server that was to start there, which is what a test would then break.
func TestServerOfSomebodyElse(t *testing.T) {
	mine := os.Getpid()
	tests := []struct {
		name string
		info string // what it calls its process_id
		pid  int    // 0: not known
		want error
	}{
		{"ours", strconv.Itoa(mine), mine, nil},
		{"another one", strconv.Itoa(mine + 1), mine, errForeign},
		{"one that does not tell", "", mine, errForeign},
		{"one that somebody else was asked to run", strconv.Itoa(mine + 1), 0, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answering := fakeredis.Start(t, func(command string, _ []string) fakeredis.Reply {
				switch command {
				case "PING":
					return fakeredis.Reply{Text: "+PONG\r\n"}
				case "HELLO":
					return fakeredis.Reply{Text: "*2\r\n$5\r\nproto\r\n:2\r\n"}
				}
				text := "# Server\r\nprocess_id:" + test.info + "\r\n"
				return fakeredis.Reply{Text: fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)}
			})
			s := &Server{Addr: answering.Addr, Lane: Lane{name: "any"}, machine: elsewhere{addr: answering.Addr, pid: test.pid}}
			if err := s.awaitAnswer(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// elsewhere is a machine that was started, with a server of somebody else.
type elsewhere struct {
	machine
	addr string
	pid  int
}

func (e elsewhere) address() string          { return e.addr }
func (e elsewhere) processID() int           { return e.pid }
func (elsewhere) log(context.Context) string { return "" }

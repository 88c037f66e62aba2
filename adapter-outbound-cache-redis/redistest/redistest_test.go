package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// Ensure that a test gets every lane, and none of what the test before it left
// behind: neither data nor programs.
func TestEachLendsAnEmptyServerPerLane(t *testing.T) {
	var first, second []string
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		must(t, client.Set(t.Context(), "left", "behind", 0).Err())
		must(t, client.ScriptLoad(t.Context(), "return 1").Err())
		first = append(first, s.Addr)
	})
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		if n := client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("the server holds %d keys", n)
		}
		err := client.EvalSha(t.Context(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", nil).Err()
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("calling a program of another test gave %v, want NOSCRIPT", err)
		}
		second = append(second, s.Addr)
	})
	if len(first) != len(redistest.Lanes(t)) || strings.Join(first, " ") != strings.Join(second, " ") {
		t.Errorf("servers %v, then %v; want the same one of each lane %v", first, second, redistest.Lanes(t))
	}
}

// Ensure that each lane is the kind and version of server that its name says.
func TestLanesAreWhatTheirNamesSay(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		kind, version, named := strings.Cut(s.Lane.String(), "-")
		if version == "server" || !named {
			return // whatever is installed
		}
		info, err := s.Client(t).Info(t.Context(), "server").Result()
		must(t, err)
		if want := kind + "_version:" + version + "."; !strings.Contains(info, want) {
			t.Errorf("the server does not report %s:\n%s", want, info)
		}
	})
}

// Ensure that a second user of the shared server is told so at once, instead of
// having its data emptied by the first, and can have it afterwards.
func TestTheSharedServerHasOneUserAtATime(t *testing.T) {
	t.Run("while it is used", func(t *testing.T) {
		redistest.Primary(t)
		failed := failureOf(t, func(tb testing.TB) { redistest.Primary(tb) })
		if !strings.Contains(failed, "redistest.Start") {
			t.Errorf("failed with %q, want the advice to use redistest.Start", failed)
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		redistest.Primary(t)
	})
}

// Ensure that no test can stop the server that others share.
func TestTheSharedServerCannotBeStopped(t *testing.T) {
	server := redistest.Primary(t)
	for name, operation := range map[string]func(testing.TB){
		"pause": server.Pause, "resume": server.Resume, "stop": server.Stop, "restart": server.Restart,
	} {
		if failed := failureOf(t, operation); !strings.Contains(failed, "cannot "+name) {
			t.Errorf("%s failed with %q", name, failed)
		}
	}
	must(t, server.Client(t).Ping(t.Context()).Err())
}

// Ensure that a paused server accepts connections and answers nothing, and that
// after Resume it executes what it was sent.
func TestPauseAndResume(t *testing.T) {
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) {
			server := redistest.Start(t, lane)
			server.Pause(t)

			connection, err := net.Dial("tcp", server.Addr)
			must(t, err)
			defer connection.Close()
			_, err = connection.Write([]byte("SET sent-while paused\r\n"))
			must(t, err)
			must(t, connection.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			if n, err := connection.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("a paused server answered: %d bytes, error %v", n, err)
			}

			server.Resume(t)
			must(t, connection.SetReadDeadline(time.Now().Add(10*time.Second)))
			_, err = connection.Read(make([]byte, 1))
			must(t, err)
			if value := server.Client(t).Get(t.Context(), "sent-while").Val(); value != "paused" {
				t.Errorf("the key holds %q, want %q", value, "paused")
			}
		})
	}
}

// Ensure that a stopped server refuses connections, and comes back empty at the
// same address.
func TestStopAndRestart(t *testing.T) {
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) {
			server := redistest.Start(t, lane)
			client := server.Client(t)
			must(t, client.Set(t.Context(), "lost", "on stop", 0).Err())

			server.Stop(t)
			if connection, err := net.Dial("tcp", server.Addr); err == nil {
				connection.Close()
				t.Error("a stopped server accepted a connection")
			}

			addr := server.Addr
			server.Restart(t)
			if server.Addr != addr {
				t.Errorf("restarted at %s, was at %s", server.Addr, addr)
			}
			if n := server.Client(t).DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("the restarted server holds %d keys", n)
			}
		})
	}
}

// Ensure that arguments reach the server and go before the defaults.
func TestStartPassesArguments(t *testing.T) {
	lane := redistest.Lanes(t)[0]
	server := redistest.Start(t, lane, "--maxmemory", "50mb", "--appendonly", "yes")
	config := server.Client(t).ConfigGet(t.Context(), "*").Val()
	if config["maxmemory"] != "52428800" || config["appendonly"] != "yes" {
		t.Errorf("maxmemory %s, appendonly %s", config["maxmemory"], config["appendonly"])
	}
}

// Ensure that a server that speaks TLS speaks nothing else, and still does after
// a restart.
func TestStartTLS(t *testing.T) {
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) {
			server := redistest.StartTLS(t, lane, redistest.NewAuthority(t), []string{"redis.internal"}, "--tls-auth-clients", "yes")
			must(t, server.Client(t).Ping(t.Context()).Err())
			server.Stop(t)
			server.Restart(t)
			must(t, server.Client(t).Ping(t.Context()).Err())

			inClear := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
			defer inClear.Close()
			if err := inClear.Ping(t.Context()).Err(); err == nil {
				t.Error("the server answers in clear")
			}
		})
	}
}

// Ensure that a server ends with its test, also one that was left paused.
func TestServersEndWithTheirTest(t *testing.T) {
	var addr string
	t.Run("leaves it paused", func(t *testing.T) {
		server := redistest.Start(t, redistest.Lanes(t)[0])
		addr = server.Addr
		server.Pause(t)
	})
	if connection, err := net.Dial("tcp", addr); err == nil {
		connection.Close()
		t.Error("the server still accepts connections")
	}
}

func BenchmarkPing(b *testing.B) {
	redistest.Each(b, func(b *testing.B, s *redistest.Server) {
		client := s.Client(b)
		for b.Loop() {
			if err := client.Ping(context.Background()).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// failureOf runs f as a test and gives what it failed with.
func failureOf(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	failing := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(failing)
	}()
	<-done
	return failing.message
}

// failing is a test whose failure does not count.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatal(args ...any) { f.fail(fmt.Sprint(args...)) }

func (f *failing) Fatalf(format string, args ...any) { f.fail(fmt.Sprintf(format, args...)) }

func (f *failing) fail(message string) {
	f.message = message
	runtime.Goexit()
}

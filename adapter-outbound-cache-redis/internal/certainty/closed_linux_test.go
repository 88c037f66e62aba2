package certainty_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/failure"
)

// secureDialer dials one address by TLS and keeps the last connection below.
type secureDialer struct {
	config  *tls.Config
	address string
	raw     net.Conn
}

func (d *secureDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	d.raw = raw
	secure := tls.Client(raw, d.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, nil
}

// awaitClose waits until the kernel has heard that the server closed the last
// connection.
func (d *secureDialer) awaitClose(t *testing.T) {
	t.Helper()
	descriptor, err := d.raw.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const established = 1
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		open := true
		descriptor.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			open = err == nil && info.State == established
		})
		if !open {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not close the connection")
		}
	}
}

// Ensure that a pooled connection by TLS which the server has closed meanwhile is
// known not to have carried the command, and that the next command gets another
// connection.
func TestStaleConnectionByTLS(t *testing.T) {
	authority := redistest.NewAuthority(t)
	server := fakeredis.StartTLS(t, &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "127.0.0.1").Pair(t)}},
		fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: "+OK\r\n", Close: true} }))
	dialer := &secureDialer{config: &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1"}, address: server.Addr}
	c := client(t, dialer.dial)
	for round := 1; round <= 3; round++ {
		command := evaluation(t.Context())
		if failed := command.Classify(c.Process(t.Context(), command)); failed != nil {
			t.Fatalf("failure is %v", failed)
		}
		dialer.awaitClose(t)
		command = evaluation(t.Context())
		failed := command.Classify(c.Process(t.Context(), command))
		if failed == nil || !failed.Certain || failed.Category != failure.Connection || !command.Dispatched() {
			t.Errorf("failure is %v, dispatched %v", failed, command.Dispatched())
		}
		if n := server.Evaluations(); n != round {
			t.Errorf("%d evaluations arrived, must be %d", n, round)
		}
	}
}

// Ensure that a server which refuses the client after the handshake, as TLS 1.3
// has it, is quoted, and that the raw connection is out of the library's reach.
func TestLastWordsOfTLS(t *testing.T) {
	authority := redistest.NewAuthority(t)
	server := fakeredis.StartTLS(t, &tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "127.0.0.1").Pair(t)},
		ClientAuth:   tls.RequireAnyClientCert,
	}, answersOK())
	dialer := &secureDialer{config: &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1"}, address: server.Addr}
	conn, err := certainty.MarkWrites(dialer.dial)(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, ok := conn.(syscall.Conn); ok {
		t.Error("the raw connection is within reach")
	}
	dialer.awaitClose(t)
	n, err := conn.Write([]byte("EVALSHA"))
	var unwritten *certainty.WriteError
	if n != 0 || !errors.As(err, &unwritten) || unwritten.Written != 0 || unwritten.Length != 7 {
		t.Errorf("wrote %d, error %v", n, err)
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("error %v, must quote the server", err)
	}
}

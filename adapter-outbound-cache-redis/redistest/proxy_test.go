package redistest

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Ensure that the proxy does to both ways what it is told, and nothing else.
func TestProxy(t *testing.T) {
	const before, sent = "HELLO", "PING"
	for name, test := range map[string]struct {
		tell    func(*Proxy)
		arrives string   // at the server
		returns []string // one of which, to the client
		open    bool     // the connection stays so
	}{
		"passes":                  {func(*Proxy) {}, sent, []string{sent}, true},
		"passes again":            {func(p *Proxy) { p.SwallowReplies(); p.Pass() }, sent, []string{sent}, true},
		"swallows requests":       {(*Proxy).SwallowRequests, "", []string{""}, true},
		"swallows replies":        {(*Proxy).SwallowReplies, sent, []string{""}, true},
		"breaks requests":         {func(p *Proxy) { p.BreakRequestsAfter(3) }, "PIN", []string{"", "PIN"}, false},
		"breaks requests at once": {func(p *Proxy) { p.BreakRequestsAfter(0) }, "", []string{""}, false},
		"breaks replies":          {func(p *Proxy) { p.BreakRepliesAfter(3) }, sent, []string{"PIN"}, false},
		"breaks replies later":    {func(p *Proxy) { p.BreakRepliesAfter(5) }, sent, []string{sent}, true},
	} {
		t.Run(name, func(t *testing.T) {
			echo := startEcho(t)
			proxy := (&Server{Addr: echo.addr}).Proxy(t)
			client := dial(t, proxy.Addr)
			write(t, client, before)
			if returned, err := read(client, len(before), patience); returned != before {
				t.Fatalf("%q returned with error %v, want %q", returned, err, before)
			}
			test.tell(proxy)
			write(t, client, sent)
			wait := patience
			if test.open && slices.Contains(test.returns, "") {
				wait = aWhile
			}
			returned, err := read(client, len(sent), wait)
			if open := errors.Is(err, os.ErrDeadlineExceeded) || err == nil; !slices.Contains(test.returns, returned) || open != test.open {
				t.Errorf("%q returned with error %v, want %q", returned, err, test.returns)
			}
			// What arrives last may come back to nobody.
			for deadline := time.Now().Add(patience); echo.heard() != before+test.arrives; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%q arrived, want %q", echo.heard(), before+test.arrives)
				}
			}
		})
	}
}

// Ensure that a connection which has lost bytes is closed rather than continued:
// a client would take one reply for another.
func TestProxyClosesWhatHasLostBytes(t *testing.T) {
	proxy := (&Server{Addr: startEcho(t).addr}).Proxy(t)
	for range 20 {
		client := dial(t, proxy.Addr)
		proxy.SwallowReplies()
		write(t, client, "one")
		if returned, err := read(client, 1, aWhile); err == nil {
			t.Fatalf("%q returned", returned)
		}
		proxy.Pass()
		write(t, client, "two")
		returned, err := read(client, 1, patience)
		if returned == "o" {
			continue // the first reply came so late that nothing was lost
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%q returned with error %v, want the end", returned, err)
		}
		return
	}
	t.Error("no reply was ever lost")
}

// Ensure that a delay holds up each way.
func TestProxyDelays(t *testing.T) {
	const delay = 30 * time.Millisecond
	proxy := (&Server{Addr: startEcho(t).addr}).Proxy(t)
	proxy.Delay(delay)
	client := dial(t, proxy.Addr)
	start := time.Now()
	write(t, client, "x")
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*delay {
		t.Errorf("there and back took %v, must take %v", took, 2*delay)
	}
}

// Ensure that a cut ends the open connections and refuses new ones, and that
// they are accepted at the same address afterwards.
func TestProxyCutAndMend(t *testing.T) {
	proxy := (&Server{Addr: startEcho(t).addr}).Proxy(t)
	client := dial(t, proxy.Addr)
	write(t, client, "x")
	if _, err := read(client, 1, patience); err != nil {
		t.Fatal(err)
	}
	proxy.Cut(t)
	if _, err := read(client, 1, patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading after the cut gives error %v, want the end", err)
	}
	if connection, err := net.Dial("tcp", proxy.Addr); err == nil {
		connection.Close()
		t.Error("a connection was accepted after the cut")
	}
	proxy.Mend(t)
	again := dial(t, proxy.Addr)
	write(t, again, "y")
	if returned, err := read(again, 1, patience); returned != "y" {
		t.Errorf("%q returned after mending, error %v", returned, err)
	}
}

// Ensure that nothing of a proxy outlives its test, whatever state it is in.
func TestProxyEndsWithItsTest(t *testing.T) {
	echo := startEcho(t)
	before := runtime.NumGoroutine()
	t.Run("uses one", func(t *testing.T) {
		proxy := (&Server{Addr: echo.addr}).Proxy(t)
		client := dial(t, proxy.Addr)
		proxy.Delay(time.Hour)
		write(t, client, "x")
	})
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, were %d", runtime.NumGoroutine(), before)
		}
	}
}

// echo sends back what it hears.
type echo struct {
	addr string
	mu   sync.Mutex
	text []byte
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{addr: listener.Addr().String()}
	var working sync.WaitGroup
	working.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			working.Go(func() {
				defer connection.Close()
				_, _ = io.Copy(io.MultiWriter(e, connection), connection)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		working.Wait()
	})
	return e
}

func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p...)
	return len(p), nil
}

func (e *echo) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.text)
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

func write(t *testing.T, connection net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
}

const (
	// aWhile is how long a test waits for what must not happen.
	aWhile = 200 * time.Millisecond
	// patience is how long it waits for what must.
	patience = 10 * time.Second
)

// read gives up to n bytes, and what kept it from giving all.
func read(connection net.Conn, n int, wait time.Duration) (string, error) {
	if err := connection.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	text := make([]byte, n)
	got, err := io.ReadFull(connection, text)
	if got > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return string(text[:got]), err
}

package redistest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands before a server and does to the traffic what networks do. What
// it is told applies to open connections and to later ones, and replaces what it
// was told before. Its methods are safe for concurrent use, but for Cut and Mend.
type Proxy struct {
	// Addr is the proxy's host:port, the same for its whole life.
	Addr string

	server     string
	conditions atomic.Pointer[conditions]
	cut        context.CancelFunc // ends all connections, and that new ones are accepted
	working    sync.WaitGroup
}

// conditions hold for both ways through the proxy. A value never changes,
// so that a connection can tell by the pointer that it is told something new.
type conditions struct {
	delay    time.Duration
	requests way
	replies  way
}

// way is what happens in one direction.
type way struct {
	swallows bool
	breaks   bool
	after    int // bytes, if it breaks
}

// Proxy starts a proxy before the server, which passes everything on. It ends
// with the test.
func (s *Server) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	port, err := freePort(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: net.JoinHostPort("127.0.0.1", port.String()), server: s.Addr}
	p.Pass()
	p.Mend(tb)
	tb.Cleanup(func() {
		p.Cut(tb)
		port.giveBack()
	})
	return p
}

// Pass passes everything on, as at first. A connection that has lost bytes never
// comes in order again: it is closed when it carries something next.
func (p *Proxy) Pass() { p.conditions.Store(&conditions{}) }

// Delay holds up whatever comes, each way, by at least d.
func (p *Proxy) Delay(d time.Duration) { p.conditions.Store(&conditions{delay: d}) }

// SwallowRequests accepts connections and requests, and lets none of them reach
// the server.
func (p *Proxy) SwallowRequests() { p.conditions.Store(&conditions{requests: way{swallows: true}}) }

// SwallowReplies lets requests reach the server, and no reply come back.
func (p *Proxy) SwallowReplies() { p.conditions.Store(&conditions{replies: way{swallows: true}}) }

// BreakRequestsAfter closes each connection once n more bytes of requests have
// gone through.
func (p *Proxy) BreakRequestsAfter(n int) {
	p.conditions.Store(&conditions{requests: way{breaks: true, after: n}})
}

// BreakRepliesAfter closes each connection once n more bytes of replies have
// gone through.
func (p *Proxy) BreakRepliesAfter(n int) {
	p.conditions.Store(&conditions{replies: way{breaks: true, after: n}})
}

// Cut closes all connections, and refuses new ones until Mend.
func (p *Proxy) Cut(tb testing.TB) {
	tb.Helper()
	p.cut()
	p.working.Wait()
}

// Mend accepts connections again after a Cut.
func (p *Proxy) Mend(tb testing.TB) {
	tb.Helper()
	// Not the test's context, which ends before the last requests of a test do.
	ctx, cut := context.WithCancel(context.Background())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.Addr)
	if err != nil {
		cut()
		tb.Fatalf("mend the proxy: %v", err)
	}
	p.cut = cut
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	p.working.Go(func() { p.accept(ctx, listener) })
}

func (p *Proxy) accept(ctx context.Context, listener net.Listener) {
	defer listener.Close()
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.working.Go(func() { p.connect(ctx, client) })
	}
}

// connect carries both ways between client and the server. When one of them
// ends, both do.
func (p *Proxy) connect(ctx context.Context, client net.Conn) {
	defer client.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	server, err := (&net.Dialer{Timeout: attemptTimeout}).DialContext(ctx, "tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	var ways sync.WaitGroup
	ways.Go(func() {
		defer end()
		p.carry(ctx, server, client, func(c *conditions) way { return c.requests })
	})
	ways.Go(func() {
		defer end()
		p.carry(ctx, client, server, func(c *conditions) way { return c.replies })
	})
	ways.Wait()
}

// carry copies until the connection ends or breaks.
func (p *Proxy) carry(ctx context.Context, to, from net.Conn, direction func(*conditions) way) {
	piece := make([]byte, 32<<10)
	told := p.conditions.Load()
	carried, lost := 0, false
	for {
		n, err := from.Read(piece)
		if err != nil {
			return
		}
		if now := p.conditions.Load(); now != told {
			told, carried = now, 0
		}
		way := direction(told)
		if way.swallows {
			lost = true
			continue
		}
		if lost || !pause(ctx, told.delay) {
			return
		}
		broken := way.breaks && carried+n >= way.after
		if broken {
			n = way.after - carried
		}
		if _, err := to.Write(piece[:n]); err != nil || broken {
			return
		}
		carried += n
	}
}

// pause waits, and reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

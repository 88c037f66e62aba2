package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
)

var (
	errNoMain = errors.New("the package has no TestMain that calls redistest.Main, so nobody would end the shared servers")
	errInUse  = errors.New("another test uses the shared server: parallel tests start their own with redistest.Start")
)

// shared are the servers of this test binary. A test binary is the scope that
// they live in, and package testing offers no other place for it.
var shared pool

// pool holds one server per lane, started when a test first asks for it. The
// zero pool is closed.
type pool struct {
	mu      sync.Mutex
	open    bool
	servers map[Lane]*pooled
}

type pooled struct {
	server *Server
	inUse  bool
}

// Main runs the tests of a package and ends the servers that they shared, also
// when it is interrupted. It does not return.
func Main(m *testing.M) {
	shared.start()

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		_ = shared.close()
		os.Exit(1)
	}()

	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func (p *pool) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open, p.servers = true, make(map[Lane]*pooled)
}

// take lends the server of lane, empty, until release is called.
func (p *pool) take(ctx context.Context, lane Lane) (server *Server, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		return nil, nil, errNoMain
	}
	entry, started := p.servers[lane]
	if !started {
		server, err := newServer(ctx, lane, setup{})
		if err != nil {
			return nil, nil, err
		}
		server.shared = true
		entry = &pooled{server: server}
		p.servers[lane] = entry
	}
	if entry.inUse {
		return nil, nil, errInUse
	}
	if err := empty(ctx, entry.server.Addr); err != nil {
		return nil, nil, fmt.Errorf("empty the server of lane %s: %w", lane, err)
	}
	entry.inUse = true
	return entry.server, func() { p.giveBack(entry) }, nil
}

func (p *pool) giveBack(entry *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.inUse = false
}

// empty removes data and programs.
func empty(ctx context.Context, addr string) error {
	client := newClient(addr, nil)
	defer client.Close()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	return client.ScriptFlush(ctx).Err()
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = false
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	var errs []error
	for _, entry := range p.servers {
		errs = append(errs, entry.server.machine.remove(ctx))
	}
	p.servers = nil
	return errors.Join(errs...)
}

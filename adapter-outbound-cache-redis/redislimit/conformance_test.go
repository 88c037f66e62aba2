package redislimit_test

import (
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that the limiter keeps every promise of the port, on every server and
// however it dispatches.
func TestConformance(t *testing.T) {
	onProxied(t, func(t *testing.T, newHarness newHarness) {
		ratelimittest.Run(t, func(tb testing.TB, catalog *ratelimit.Catalog) ratelimittest.Harness {
			return newHarness(tb, catalog)
		})
	})
}

// Ensure the same of the port for several levels.
func TestLayeredConformance(t *testing.T) {
	onProxied(t, func(t *testing.T, newHarness newHarness) {
		ratelimittest.RunLayered(t, func(tb testing.TB, catalog *ratelimit.Catalog) ratelimittest.LayeredHarness {
			return newHarness(tb, catalog)
		})
	})
}

type newHarness func(testing.TB, *ratelimit.Catalog) *proxied

// onProxied runs f on every server for each way to dispatch, both at a time: most
// of what a suite does is to wait.
func onProxied(t *testing.T, f func(*testing.T, newHarness)) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		for _, dispatch := range redislimit.Dispatches() {
			t.Run(string(dispatch), func(t *testing.T) {
				t.Parallel()
				f(t, func(tb testing.TB, catalog *ratelimit.Catalog) *proxied {
					return newProxied(tb, server, dispatch, catalog)
				})
			})
		}
	})
}

// proxied are limiters that reach a real server through a proxy.
type proxied struct {
	tb     testing.TB
	proxy  *redistest.Proxy
	config redislimit.Config
	mend   func()
}

var _ ratelimittest.LayeredHarness = (*proxied)(nil)

func newProxied(tb testing.TB, server *redistest.Server, dispatch redislimit.Dispatch, catalog *ratelimit.Catalog) *proxied {
	tb.Helper()
	proxy := server.Proxy(tb)
	c := config(tb, proxy.Addr)
	c.Catalog = catalog
	c.Dispatch = dispatch
	c.CommandTimeout, c.PoolTimeout, c.DialTimeout = withinDeadline, withinDeadline, withinDeadline
	c.PoolSize = 4 // so that a busy machine need not open many at once within that time
	c.Breaker = redislimit.Breaker{Failures: 5, OpenFor: 200 * time.Millisecond}
	return &proxied{tb: tb, proxy: proxy, config: c, mend: func() {}}
}

// withinDeadline is a timeout of which two fit into the suite's deadline.
const withinDeadline = 2 * ratelimittest.Deadline / 5

func (p *proxied) NewPort() ratelimit.EdgePort { return newLimiter(p.tb, p.config) }

func (p *proxied) NewLayeredPort() ratelimit.LayeredPort { return newLimiter(p.tb, p.config) }

func (p *proxied) Pass(d time.Duration) { time.Sleep(d) }

func (p *proxied) Disconnect() {
	p.proxy.Cut(p.tb)
	p.mend = func() { p.proxy.Mend(p.tb) }
}

func (p *proxied) LoseReplies() {
	p.proxy.SwallowReplies()
	p.mend = p.proxy.Pass
}

func (p *proxied) Mend() { p.mend() }

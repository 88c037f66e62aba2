package redistest

import (
	"context"
	"testing"
)

// runner is a test or a benchmark: what can run itself again under a name.
type runner[T any] interface {
	testing.TB
	Run(name string, f func(T)) bool
}

// Each runs f once per lane, as a subtest or sub-benchmark named after it, with
// the lane's shared server. The server has no data and no programs; f may leave
// there what it likes, but its configuration and users stay as they are: a test
// that changes these calls [Start]. f must not be parallel to other tests that
// share the server.
func Each[T runner[T]](t T, f func(t T, s *Server)) {
	t.Helper()
	for _, lane := range Lanes(t) {
		t.Run(lane.String(), func(t T) {
			t.Helper()
			f(t, take(t, lane))
		})
	}
}

// Primary gives the shared server of the first lane, as [Each] would, for what
// need not be seen on every kind of server.
func Primary(tb testing.TB) *Server {
	tb.Helper()
	return take(tb, Lanes(tb)[0])
}

func take(tb testing.TB, lane Lane) *Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout+operationTimeout)
	defer cancel()
	server, release, err := shared.take(ctx, lane)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return server
}

// Start starts a server of lane for this test alone, with the command line
// arguments of redis-server, such as "--maxmemory", "50mb". It ends with the
// test.
func Start(tb testing.TB, lane Lane, arguments ...string) *Server {
	tb.Helper()
	return start(tb, lane, setup{own: arguments})
}

// StartTLS is [Start] for a server that speaks nothing but TLS. Its authority
// vouches for it under hosts, and for whatever clients it asks for a
// certificate, which it does with the arguments "--tls-auth-clients", "yes".
func StartTLS(tb testing.TB, lane Lane, authority *Authority, hosts []string, arguments ...string) *Server {
	tb.Helper()
	return start(tb, lane, setup{own: arguments, encryption: newEncryption(tb, authority, hosts)})
}

func start(tb testing.TB, lane Lane, how setup) *Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout+operationTimeout)
	defer cancel()
	server, err := newServer(ctx, lane, how)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
		defer cancel()
		if err := server.machine.remove(ctx); err != nil {
			tb.Errorf("remove the server of lane %s: %v", lane, err)
		}
	})
	return server
}

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// unlimited lets tests send as much as they like.
var unlimited = []string{"--set", "app.web.local-limiter.limit=1000000000"}

// inFrontOf starts a weir that sends requests on to application.
func inFrontOf(t *testing.T, application http.HandlerFunc, args ...string) *process {
	t.Helper()
	server := httptest.NewServer(application)
	t.Cleanup(server.Close)
	return start(t, append(append([]string{"--set", "app.web.upstream=" + server.URL}, unlimited...), args...)...)
}

// Ensure that a stop lets all requests end that are under way at the application,
// and takes no new ones.
func TestWeir_DrainsRequestsToTheUpstream(t *testing.T) {
	const running = 50
	var entered sync.WaitGroup
	entered.Add(running)
	release := make(chan struct{})
	weir := inFrontOf(t, func(w http.ResponseWriter, _ *http.Request) {
		entered.Done()
		<-release
		_, _ = io.WriteString(w, "done")
	}, "--set", "app.web.shutdown.drain=1m")
	results := make(chan error, running)
	for range running {
		go func() {
			got, err := try(get(weir.public + "/"))
			if err == nil && (got.status != http.StatusOK || got.body != "done") {
				err = fmt.Errorf("answered %d %s", got.status, got.body)
			}
			results <- err
		}()
	}
	entered.Wait()
	weir.signal(t, syscall.SIGTERM)
	eventually(t, "new connections are refused", func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(weir.public, "http://"))
		if err == nil {
			_ = connection.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	close(release)
	for range running {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if code := weir.wait(t); code != exitStopped {
		t.Errorf("exit code %d\n%s", code, weir.stderr)
	}
}

// Ensure that the first event of a stream reaches the client as soon as the
// application has written it, and that a client that leaves ends the stream at
// the application. Of many streams the fastest counts: what is held back, is held
// back in each.
func TestWeir_Events(t *testing.T) {
	const most = 20 * time.Millisecond
	written, ended := make(chan time.Time, 1), make(chan struct{})
	weir := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		written <- time.Now()
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	best := time.Hour
	for begin := time.Now(); best > most && time.Since(begin) < patience/2; {
		answer, err := http.DefaultClient.Do(get(weir.public + "/"))
		if err != nil {
			t.Fatal(err)
		}
		event := make([]byte, len("data: first\n\n"))
		if _, err := io.ReadFull(answer.Body, event); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(<-written))
		_ = answer.Body.Close()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the stream goes on at the application")
		}
	}
	t.Logf("the first event took %v", best)
	if best > most {
		t.Errorf("the first event took %v, want at most %v", best, most)
	}
	weir.stop(t)
}

// Ensure that clients which never finish their header do not keep others from
// being served, and are cut off.
func TestWeir_SlowLoris(t *testing.T) {
	const (
		crowd  = 1000
		bound  = 5 * time.Second // for a header
		served = time.Second
	)
	weir := start(t, unlimited...)
	begin := time.Now()
	connections := make([]net.Conn, crowd)
	for i := range connections {
		connection, err := net.Dial("tcp", strings.TrimPrefix(weir.public, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: a\r\nA: "); err != nil {
			t.Fatal(err)
		}
		connections[i] = connection
	}
	connected := time.Now()
	normal, late := 0, 0
	for ; time.Since(connected) < bound-served; normal++ {
		dribble(connections)
		request := get(weir.public + "/")
		request.Close = true // the next one is another client
		asked := time.Now()
		if got := send(t, request); got.status != http.StatusOK {
			t.Fatalf("answered %d %s", got.status, got.body)
		}
		if time.Since(asked) > served {
			late++
		}
	}
	// Now and then it is the machine that stalls.
	if late > normal/10 {
		t.Errorf("%d of %d normal clients waited for more than %v", late, normal, served)
	}
	var all sync.WaitGroup
	for _, connection := range connections {
		all.Go(func() {
			_ = connection.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, connection); errors.Is(err, syscall.EAGAIN) || isTimeout(err) {
				t.Errorf("a slow client is still connected after %v", time.Since(begin))
			}
		})
	}
	all.Wait()
	t.Logf("the last of %d slow clients was cut off after %v", crowd, time.Since(connected))
	if time.Since(begin) < bound || time.Since(connected) > 3*bound {
		t.Errorf("it took %v until they were cut off, want about %v", time.Since(connected), bound)
	}
	weir.stop(t)
}

// dribble sends one byte more on each connection.
func dribble(connections []net.Conn) {
	for _, connection := range connections {
		_, _ = io.WriteString(connection, "a")
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// Ensure that an upstream may be slow, as long as is configured, and not as long as
// without that.
func TestWeir_SlowUpstream(t *testing.T) {
	application := func(w http.ResponseWriter, r *http.Request) {
		pause, err := time.ParseDuration(r.URL.Query().Get("pause"))
		if err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	}
	weir := inFrontOf(t, application, "--set", "app.web.gateway.response-header-timeout=1s")
	var got response
	for range 5 { // a machine may stall for the rest of the second
		begin := time.Now()
		if got = send(t, get(weir.public+"/?pause=100ms")); got.status == http.StatusOK || time.Since(begin) < time.Second {
			break
		}
	}
	if got.status != http.StatusOK || got.body != "done" {
		t.Errorf("100ms are answered %d %s", got.status, got.body)
	}
	begin := time.Now()
	if got := send(t, get(weir.public+"/?pause=1m")); got.status != http.StatusGatewayTimeout || time.Since(begin) > 15*time.Second {
		t.Errorf("1m is answered %d %s after %v", got.status, got.body, time.Since(begin))
	}
	weir.stop(t)
}

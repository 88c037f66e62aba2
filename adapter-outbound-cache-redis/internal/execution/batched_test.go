package execution

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/lua"
	"example.com/weir/shared-contract/failure"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// Ensure that calls which find all connections taken travel together, that each
// gets the reply of its own, and that no more connections are used than there are.
func TestBatched_SharesTheWire(t *testing.T) {
	const poolSize = 2
	server := newGate(t)
	batched := newBatched(t, server, poolSize, dial)
	holders := server.occupy(t, batched, poolSize)

	waiting := make([]<-chan result, 500)
	for i := range waiting {
		waiting[i] = begin(t.Context(), batched, strconv.Itoa(i))
	}
	eventually(t, "all others wait", func() bool { return batched.Waiting() == len(waiting) })
	server.release()
	for i, ended := range waiting {
		wantValue(t, await(t, ended), strconv.Itoa(i))
	}
	for _, ended := range holders {
		wantValue(t, await(t, ended), "hold")
	}
	if got := server.Connections(); got != poolSize {
		t.Errorf("%d connections were used, must be %d", got, poolSize)
	}
	eventually(t, "all lanes are free again", func() bool { return batched.inUse() == 0 })
	if batched.sent != 0 {
		t.Errorf("%d calls are still on the wire", batched.sent)
	}
}

// Ensure that while one lane has many calls on the wire, a call that comes later
// need not wait for it.
func TestBatched_AlwaysHasASecondLane(t *testing.T) {
	server := newGate(t)
	batched := newBatched(t, server, 2*alone, dial)
	holders := server.occupy(t, batched, alone)
	for range alone {
		begin(t.Context(), batched, "keep")
	}
	eventually(t, "the others wait", func() bool { return batched.Waiting() == alone })
	for range holders {
		server.open <- struct{}{}
	}
	eventually(t, "one lane is left, which has all others", func() bool { return batched.inUse() == 1 })
	wantValue(t, await(t, begin(t.Context(), batched, "later")), "later")
}

// Ensure that no lane waits for a connection of another one.
func TestBatched_HasAConnectionForEachLane(t *testing.T) {
	for poolSize := 1; poolSize <= 3; poolSize++ {
		server := newGate(t)
		batched := newBatched(t, server, poolSize, dial)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for range 40 {
					wantValue(t, await(t, begin(t.Context(), batched, "1")), "1")
				}
			})
		}
		callers.Wait()
		if got := batched.client.PoolStats().WaitCount; got != 0 {
			t.Errorf("with %d connections, lanes had to wait for one %d times", poolSize, got)
		}
	}
}

// Ensure that a few calls go each by itself, that when more wait they share the
// lane which is free first, and that as long as there are so many, two lanes do it.
func TestBatched_FewGoAlone(t *testing.T) {
	server := newGate(t)
	batched := newBatched(t, server, 2*alone, dial)
	server.occupy(t, batched, alone)
	for range 5 { // makes some of the lanes such as have taken others along
		begin(t.Context(), batched, "hold")
		eventually(t, "one waits", func() bool { return batched.Waiting() == 1 })
		server.open <- struct{}{} // lets one go
		eventually(t, "the lane has taken it along", func() bool { return batched.Waiting() == 0 })
	}
	for range alone {
		begin(t.Context(), batched, "keep")
	}
	eventually(t, "the others wait", func() bool { return batched.Waiting() == alone })

	server.open <- struct{}{}
	eventually(t, "one lane has taken all others along", func() bool { return batched.Waiting() == 0 })
	if got := batched.inUse(); got != alone {
		t.Errorf("%d lanes are in use, must be %d", got, alone)
	}
	for range alone {
		begin(t.Context(), batched, "keep")
	}
	eventually(t, "those who came later wait", func() bool { return batched.Waiting() == alone })
	for lanes := alone - 1; lanes >= batches; lanes-- {
		server.open <- struct{}{}
		eventually(t, "a lane ends", func() bool { return batched.inUse() == lanes })
	}
	if got := batched.Waiting(); got != alone {
		t.Errorf("%d wait, must be %d until the last but one lane is free", got, alone)
	}
	server.open <- struct{}{}
	eventually(t, "the second lane has taken them along", func() bool { return batched.Waiting() == 0 })
	begin(t.Context(), batched, "keep")
	eventually(t, "one more waits", func() bool { return batched.Waiting() == 1 })
	if got := batched.inUse(); got != batches {
		t.Errorf("%d lanes are in use, must be %d", got, batches)
	}
}

// Ensure that a caller leaves when its time is up, and is told what is known.
func TestBatched_CallersLeave(t *testing.T) {
	server := newGate(t)
	batched := newBatched(t, server, 1, dial)
	holder := server.occupy(t, batched, 1)[0]

	timed, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	wantCertain(t, await(t, begin(timed, batched, "late")), failure.Saturated)

	cancelled, leave := context.WithCancel(t.Context())
	leaver := begin(cancelled, batched, "gone")
	eventually(t, "two wait", func() bool { return batched.Waiting() == 2 })
	leave()
	wantCertain(t, await(t, leaver), failure.Cancelled)

	sent, leaveSent := context.WithCancel(t.Context())
	second := begin(sent, batched, "hold")
	eventually(t, "three wait", func() bool { return batched.Waiting() == 3 })
	server.open <- struct{}{} // lets one go
	wantValue(t, await(t, holder), "hold")
	eventually(t, "the second is on its way", func() bool { return server.held.Load() == 2 })
	leaveSent()
	wantDoubt(t, await(t, second))

	server.release()
	select {
	case failed := <-server.missed:
		if failed != nil {
			t.Errorf("what was answered after its caller had left is told as %v", failed)
		}
	case <-time.After(patience):
		t.Error("nobody is told of what was answered after its caller had left")
	}
	if sent := server.Evaluations(); sent != 2 {
		t.Errorf("%d calls were sent, must be 2: those that were withdrawn must not be", sent)
	}
}

// calls are one with one key, and one with several.
func calls(last string) map[string][]Operand {
	return map[string][]Operand{
		"one key":      {{"key", []byte(last)}},
		"several keys": {{"first", []byte("1")}, {"second", []byte("2")}, {"third", []byte(last)}},
	}
}

// Ensure that a call which is withdrawn while its batch waits for a connection
// has no effect, although the batch is sent later.
func TestBatched_WithdrawnFromItsBatch(t *testing.T) {
	for name, operands := range calls("withdrawn") {
		t.Run(name, func(t *testing.T) {
			server := newGate(t)
			wantValue(t, withdrawOne(t, server, dial, operands), "stays")
			if got := server.seen(); got != `["hold and break" "" "stays"]` {
				t.Errorf("the server saw %s: what was withdrawn must come without its last argument", got)
			}
		})
	}
}

// Ensure that a call which was withdrawn is not sent again when the server has
// lost its programs.
func TestBatched_WithdrawnIsNotSentAgain(t *testing.T) {
	server := newGate(t)
	server.forgetful.Store(true)
	wantValue(t, withdrawOne(t, server, dial, calls("withdrawn")["several keys"]), "stays")
	if got := server.seen(); got != `["hold and break" "" "stays" "stays"]` {
		t.Errorf("the server saw %s: only what stays must come again", got)
	}
}

// Ensure that what was withdrawn counts with the length that it was written with:
// the call after it was written whole, so it is in doubt.
func TestBatched_FailedWriteAfterAWithdrawal(t *testing.T) {
	for name, operands := range calls("withdrawn") {
		t.Run(name, func(t *testing.T) {
			server := newGate(t)
			stays := newEvaluation(t.Context(), lua.FixedWindow(), []Operand{{"key", []byte("stays")}}).size()
			withdrawn := newEvaluation(t.Context(), lua.FixedWindow(), calls("")[name]).size()
			var lengths atomic.Value
			failing := func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return &failingConn{Conn: conn, above: stays + len("hold and break"), after: withdrawn + stays, lengths: &lengths}, err
			}
			wantDoubt(t, withdrawOne(t, server, failing, operands))
		})
	}
}

// impatient is a context whose time is up when the test says so.
type impatient struct {
	context.Context
	up chan struct{}
}

func (i impatient) Done() <-chan struct{} { return i.up }

func (i impatient) Err() error {
	select {
	case <-i.up:
		return context.DeadlineExceeded
	default:
		return i.Context.Err()
	}
}

// withdrawOne lets a batch of two wait for a connection until the first one's
// caller, who asks with operands, has left, and gives what becomes of the second,
// "stays".
func withdrawOne(t *testing.T, server *gate, dial certainty.Dial, operands []Operand) result {
	t.Helper()
	greeting := make(chan struct{})
	var slow, connecting atomic.Bool
	batched := newBatched(t, server, 1, func(ctx context.Context, network, address string) (net.Conn, error) {
		if slow.Load() {
			connecting.Store(true)
			<-greeting
		}
		return dial(ctx, network, address)
	})
	holder := begin(t.Context(), batched, "hold and break")
	eventually(t, "the lane is taken", func() bool { return server.held.Load() == 1 })

	timed := impatient{t.Context(), make(chan struct{})}
	first := run(timed, batched, lua.FixedWindow(), operands...)
	eventually(t, "one waits", func() bool { return batched.Waiting() == 1 })
	second := begin(t.Context(), batched, "stays")
	eventually(t, "two wait", func() bool { return batched.Waiting() == 2 })
	slow.Store(true) // from now on, no connection gets ready
	server.release()
	wantDoubt(t, await(t, holder))
	eventually(t, "the batch waits for a connection", connecting.Load)
	close(timed.up)
	wantCertain(t, await(t, first), failure.Connection)
	close(greeting)
	return await(t, second)
}

// Ensure that a batch for which no connection gets ready ends with its callers,
// and not only when the client gives up.
func TestBatched_EndsWithItsCallers(t *testing.T) {
	for wait := 200 * time.Millisecond; ; wait *= 4 {
		first := endWithFirst(t, wait)
		if first.failed == nil || first.failed.Category != failure.Saturated || wait > patience/2 {
			wantCertain(t, first, failure.Connection)
			return
		}
		t.Logf("after %v it had not even left the queue", wait)
	}
}

// endWithFirst lets a batch for which no connection gets ready wait until the time
// of its only caller is up, and gives what becomes of that one.
func endWithFirst(t *testing.T, wait time.Duration) result {
	t.Helper()
	server := newGate(t)
	never := make(chan struct{})
	defer close(never)
	var unreachable atomic.Bool
	batched := newBatched(t, server, 1, func(ctx context.Context, network, address string) (net.Conn, error) {
		if unreachable.Load() {
			<-never
		}
		return dial(ctx, network, address)
	})
	holder := begin(t.Context(), batched, "hold and break")
	eventually(t, "the lane is taken", func() bool { return server.held.Load() == 1 })
	timed, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	first := begin(timed, batched, "1")
	eventually(t, "one waits", func() bool { return batched.Waiting() == 1 })
	unreachable.Store(true)
	server.release()
	await(t, holder)
	left := await(t, first)
	leftAt := time.Now()
	eventually(t, "the lane is free", func() bool { return batched.inUse() == 0 })
	if took := time.Since(leftAt); took > patience/2 {
		t.Errorf("the lane was free %v after the last caller had left", took)
	}
	return left
}

// Ensure that of a batch whose connection breaks, what was answered counts and
// all the rest is in doubt.
func TestBatched_HalfABatch(t *testing.T) {
	server := newGate(t)
	batched := newBatched(t, server, 1, dial)
	server.occupy(t, batched, 1)
	var waiting []<-chan result
	for i, last := range []string{"1", "2", "break", "3"} {
		waiting = append(waiting, begin(t.Context(), batched, last))
		eventually(t, "it waits", func() bool { return batched.Waiting() == i+1 })
	}
	server.release()
	wantValue(t, await(t, waiting[0]), "1")
	wantValue(t, await(t, waiting[1]), "2")
	wantDoubt(t, await(t, waiting[2]))
	wantDoubt(t, await(t, waiting[3]))
}

// Ensure that a batch which the server does not know the programs of is sent
// once more, with each program once.
func TestBatched_LoadsPrograms(t *testing.T) {
	server := newGate(t)
	server.forgetful.Store(true)
	batched := newBatched(t, server, 1, dial)
	server.occupy(t, batched, 1)
	var waiting []<-chan result
	for i := range 20 {
		program := []lua.Program{lua.FixedWindow(), lua.Layered()}[i%2]
		waiting = append(waiting, run(t.Context(), batched, program, calls(strconv.Itoa(i))["several keys"]...))
	}
	eventually(t, "all others wait", func() bool { return batched.Waiting() == len(waiting) })
	server.release()
	for i, ended := range waiting {
		wantValue(t, await(t, ended), strconv.Itoa(i))
	}
	if got := server.loads.Load(); got != 2 {
		t.Errorf("%d programs were loaded, must be two", got)
	}
}

// Ensure that a batch is one write of the length that is counted with, and that
// after a write that failed only what was written whole is in doubt.
func TestBatched_FailedWrite(t *testing.T) {
	one := newEvaluation(t.Context(), lua.FixedWindow(), []Operand{{"key", []byte("1")}}).size()
	for name, row := range map[string]struct {
		written int
		doubted int // how many of the four may have arrived
	}{
		"nothing":             {0, 0},
		"almost one":          {one - 1, 0},
		"one":                 {one, 1},
		"one and a half":      {one + one/2, 1},
		"all but the last":    {4*one - 1, 3},
		"all, and then fails": {4 * one, 4},
	} {
		t.Run(name, func(t *testing.T) {
			server := newGate(t)
			var lengths atomic.Value
			failing := func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return &failingConn{Conn: conn, above: 2 * one, after: row.written, lengths: &lengths}, err
			}
			batched := newBatched(t, server, 1, failing)
			server.occupy(t, batched, 1)
			var waiting []<-chan result
			for range 4 {
				waiting = append(waiting, begin(t.Context(), batched, "1"))
			}
			eventually(t, "all others wait", func() bool { return batched.Waiting() == 4 })
			server.release()
			doubted := 0
			for _, ended := range waiting {
				switch r := await(t, ended); {
				case r.failed == nil:
					t.Error("a write failed and nobody noticed")
				case !r.failed.Certain:
					doubted++
				}
			}
			if doubted != row.doubted {
				t.Errorf("%d calls are in doubt, must be %d", doubted, row.doubted)
			}
			if got := lengths.Load(); got != 4*one {
				t.Errorf("the batch was a write of %v bytes, must be %d", got, 4*one)
			}
		})
	}
}

// failingConn fails writes above a length, after so many bytes.
type failingConn struct {
	net.Conn
	above, after int
	lengths      *atomic.Value
}

func (c *failingConn) Write(request []byte) (int, error) {
	if len(request) <= c.above {
		return c.Conn.Write(request)
	}
	c.lengths.Store(len(request))
	n, err := c.Conn.Write(request[:c.after])
	return n, errors.Join(err, errors.New("cut"))
}

// Ensure that the length of a command is counted right.
func TestEvaluation_Size(t *testing.T) {
	for _, argument := range []string{"", "1", strings.Repeat("9", 9), strings.Repeat("9", 10), strings.Repeat("9", 99), strings.Repeat("9", 100)} {
		for operands := 1; operands <= 8; operands++ {
			var given []Operand
			words := []string{"EVALSHA", lua.Layered().SHA1, strconv.Itoa(operands)}
			for range operands {
				given = append(given, Operand{strings.Repeat("k", 120), []byte(argument)})
				words = append(words, strings.Repeat("k", 120))
			}
			for range operands {
				words = append(words, argument)
			}
			wire := fmt.Sprintf("*%d\r\n", len(words))
			for _, word := range words {
				wire += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
			}
			if got := newEvaluation(t.Context(), lua.Layered(), given).size(); got != len(wire) {
				t.Errorf("size of %d operands is %d, must be %d", operands, got, len(wire))
			}
		}
	}
}

// Ensure that a batch with all programs is one write.
func TestBatchWithAllProgramsIsOneWrite(t *testing.T) {
	size := batchBytes
	for _, program := range lua.Programs() {
		size += sizeOfLoad(program)
	}
	if size > WriteBufferBytes {
		t.Errorf("a batch with all programs has up to %d bytes, the connection buffers %d", size, WriteBufferBytes)
	}
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func newBatched(t *testing.T, server *gate, poolSize int, dial certainty.Dial) *Batched {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, Dialer: certainty.MarkWrites(dial), Protocol: 2, PoolSize: poolSize,
		ReadTimeout: patience, WriteTimeout: patience, DialTimeout: patience, PoolTimeout: patience,
		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		PipelinePoolSize: -1, WriteBufferSize: WriteBufferBytes,
	})
	t.Cleanup(func() { _ = client.Close() })
	return NewBatched(client, func(failed *certainty.Failure) { server.missed <- failed })
}

func (b *Batched) inUse() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes
}

// result is what a call came to.
type result struct {
	value  any
	failed *certainty.Failure
}

// begin runs a call with one key in a goroutine of its own.
func begin(ctx context.Context, batched *Batched, last string) <-chan result {
	return run(ctx, batched, lua.FixedWindow(), Operand{"key", []byte(last)})
}

// run runs a call in a goroutine of its own.
func run(ctx context.Context, batched *Batched, program lua.Program, operands ...Operand) <-chan result {
	ended := make(chan result, 1)
	go func() {
		bound, finite := ctx.Deadline()
		if !finite {
			bound = time.Now().Add(patience)
		}
		value, failed := batched.Run(ctx, bound, program, operands...)
		ended <- result{value, failed}
	}()
	return ended
}

func await(t *testing.T, ended <-chan result) result {
	t.Helper()
	select {
	case r := <-ended:
		return r
	case <-time.After(patience):
		t.Fatal("a call never ended")
		return result{}
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func wantValue(t *testing.T, r result, want string) {
	t.Helper()
	if r.failed != nil || r.value != want {
		t.Errorf("call came to %v, %v; must be %q", r.value, r.failed, want)
	}
}

// wantCertain wants a call that certainly had no effect.
func wantCertain(t *testing.T, r result, category failure.Category) {
	t.Helper()
	if r.failed == nil || !r.failed.Certain || r.failed.Category != category {
		t.Errorf("call came to %v, %v; must certainly fail as %s", r.value, r.failed, category)
	}
}

// wantDoubt wants a call that may have had an effect.
func wantDoubt(t *testing.T, r result) {
	t.Helper()
	if r.failed == nil || r.failed.Certain || r.failed.Category != failure.NoReply {
		t.Errorf("call came to %v, %v; must be in doubt", r.value, r.failed)
	}
}

// gate is a server that answers each call with the call's last argument. It
// keeps a call whose argument starts with "hold" until it is opened, and one that
// starts with "keep" until that is for good. It breaks the connection after a call
// whose argument ends in "break".
type gate struct {
	*fakeredis.Server
	held, loads atomic.Int64
	forgetful   atomic.Bool // knows no program but those that are loaded
	open        chan struct{}
	released    chan struct{}
	arguments   chan string
	missed      chan *certainty.Failure
}

func newGate(t *testing.T) *gate {
	g := &gate{open: make(chan struct{}), released: make(chan struct{}), arguments: make(chan string, 1000), missed: make(chan *certainty.Failure, 1000)}
	polite := fakeredis.Polite(g.evaluate)
	g.Server = fakeredis.Start(t, func(command string, arguments []string) fakeredis.Reply {
		if command == "SCRIPT" {
			g.loads.Add(1)
			g.forgetful.Store(false)
		}
		return polite(command, arguments)
	})
	t.Cleanup(g.release)
	return g
}

func (g *gate) evaluate(_ string, arguments []string) fakeredis.Reply {
	last := arguments[len(arguments)-1]
	g.arguments <- last
	switch {
	case strings.HasPrefix(last, "hold"):
		g.held.Add(1)
		<-g.open
	case strings.HasPrefix(last, "keep"):
		<-g.released
	case g.forgetful.Load():
		return fakeredis.Reply{Text: "-NOSCRIPT No matching script.\r\n"}
	}
	if strings.HasSuffix(last, "break") {
		return fakeredis.Reply{Text: "?\r\n", Close: true}
	}
	return fakeredis.Reply{Text: fmt.Sprintf("$%d\r\n%s\r\n", len(last), last)}
}

// release opens the gate for good.
func (g *gate) release() {
	select {
	case <-g.open:
	default:
		close(g.open)
		close(g.released)
	}
}

// occupy takes n lanes with calls that are held.
func (g *gate) occupy(t *testing.T, batched *Batched, n int) (holders []<-chan result) {
	t.Helper()
	for range n {
		holders = append(holders, begin(t.Context(), batched, "hold"))
	}
	eventually(t, "the lanes are taken", func() bool { return g.held.Load() == int64(n) })
	return holders
}

// seen are the last arguments of the calls that arrived.
func (g *gate) seen() string {
	seen := []string{}
	for len(g.arguments) > 0 {
		seen = append(seen, <-g.arguments)
	}
	return fmt.Sprintf("%q", seen)
}

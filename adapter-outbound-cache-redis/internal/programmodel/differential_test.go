package programmodel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/lua"
)

// replies is how many replies of each program are compared on the first kind of
// server; on each further kind it is a fifth of that.
func replies() int {
	if soaking() {
		return 5_000_000
	}
	return 100_000
}

// soaking tells whether tests have all the time they want, as in `make soak`.
func soaking() bool { return os.Getenv("WEIR_SOAK") == "1" }

// seedVariable names the environment variable that repeats a soak.
const seedVariable = "WEIR_DIFFERENTIAL_SEED"

// seed decides everything but the clock. A soak has another one each time.
func seed(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		return seed
	}
	if soaking() {
		return rand.Uint64()
	}
	return 1
}

// Ensure that the programs, as they are and on every kind of server, do what the
// model does: the reply, what is stored and the moment of expiry, whatever the
// policy, the clock and the key.
func TestProgramsAgreeWithTheModel(t *testing.T) {
	first := redistest.Lanes(t)[0]
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		wanted := replies()
		if server.Lane != first {
			wanted /= 5
		}
		for _, p := range lua.Programs() {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel() // the keys of each program are its own
				seed := seed(t)
				found := newDifferential(t, server.Client(t), p, seed).run(t, wanted)
				t.Logf("seed %d: %v", seed, found)
				if found.difference != "" {
					t.Fatalf("seed %d: %s", seed, found.difference)
				}
				if poor := found.poor(p.Name); len(poor) > 0 {
					t.Errorf("seed %d: too little was seen of %q", seed, poor)
				}
			})
		}
	})
}

// Ensure that the comparison finds faults of all kinds, wherever they are in a
// program, within few replies.
func TestDifferentialCatchesPlantedFaults(t *testing.T) {
	// The fault that hides best shows after 15,220 replies. There are several times as
	// many in case the callers change, but no more than of a program that has no fault:
	// what takes longer would not be found there either.
	const soon = 100_000
	client := redistest.Primary(t).Client(t)
	for _, p := range lua.Programs() {
		for _, fault := range plantedFaults()[p.Name] {
			t.Run(p.Name+"/"+fault.name, func(t *testing.T) {
				broken := p
				broken.Source = strings.Replace(p.Source, fault.text, fault.instead, 1)
				if broken.Source == p.Source {
					t.Fatalf("the program has no %q to plant a fault in", fault.text)
				}
				if found := newDifferential(t, client, broken, 1).run(t, soon); found.difference == "" {
					t.Errorf("not found in %v", found)
				}
			})
		}
	}
}

// crowd is how many callers there are at one time.
const crowd = 200

// differential compares a program with its model.
type differential struct {
	client   *redis.Client
	program  lua.Program // perhaps tampered with
	programs []program
	sha1     map[string]string
	// drifts: the server's clock goes on while a program runs, so that the expiry
	// is counted from a later moment than the one the program was told.
	drifts bool

	seed    uint64
	born    uint64 // callers so far
	callers []caller
	left    []int // steps of each caller's life
}

func newDifferential(t *testing.T, client *redis.Client, p lua.Program, seed uint64) *differential {
	t.Helper()
	return &differential{
		client: client, program: p, programs: programs(t), sha1: make(map[string]string), seed: seed,
		callers: make([]caller, crowd), left: make([]int, crowd),
	}
}

// run compares until wanted replies are compared, a difference is found, or the
// test has little time left.
func (d *differential) run(t *testing.T, wanted int) *findings {
	t.Helper()
	ctx := t.Context()
	if err := d.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	found := &findings{statuses: make(map[reply.Status]int)}
	deadline, limited := t.Deadline()
	for found.replies < wanted && found.difference == "" {
		if limited && time.Until(deadline) < time.Minute {
			t.Errorf("only %d of %d replies were compared in the time that tests have", found.replies, wanted)
			break
		}
		if err := d.round(ctx, found); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// clockDrifts asks for the time, passes some, and asks again.
const clockDrifts = `
local before = redis.call('TIME')
for _ = 1, 100000 do end
local after = redis.call('TIME')
return before[1] == after[1] and before[2] == after[2] and 0 or 1`

func (d *differential) prepare(ctx context.Context) error {
	drifts, err := d.client.Eval(ctx, clockDrifts, nil).Int()
	if err != nil {
		return err
	}
	d.drifts = drifts == 1
	for _, p := range d.programs {
		if d.sha1[p.Name], err = d.client.ScriptLoad(ctx, p.Source).Result(); err != nil {
			return err
		}
	}
	d.sha1[d.program.Name], err = d.client.ScriptLoad(ctx, d.program.Source).Result()
	return err
}

// round lets each caller call once.
func (d *differential) round(ctx context.Context, found *findings) error {
	pipe := d.client.Pipeline()
	sent := time.Now().UnixMilli()
	exchanges := make([]exchange, len(d.callers))
	for i := range d.callers {
		exchanges[i] = d.send(ctx, pipe, i, sent)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	received := time.Now().UnixMilli()
	for i, e := range exchanges {
		s, err := e.see()
		if err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
		s.sent, s.received = sent, received
		x, difference := d.compare(e, s)
		if difference != "" {
			found.difference = fmt.Sprintf("reply %d, %v: %s", found.replies+1, e, difference)
			return nil
		}
		found.count(s, x)
		d.callers[i].saw(s.after, s.answers)
	}
	return nil
}

func (d *differential) send(ctx context.Context, pipe redis.Pipeliner, i int, now int64) exchange {
	if d.left[i] == 0 {
		d.born++
		random := rand.New(rand.NewPCG(d.seed, d.born))
		d.callers[i], d.left[i] = d.newCaller(random, i), 10+random.IntN(60)
	}
	d.left[i]--
	next := d.callers[i].next(now)
	return newExchange(ctx, pipe, d.sha1[next.program], next)
}

// newCaller finds whatever an earlier one has left under its keys gone.
func (d *differential) newCaller(random *rand.Rand, i int) caller {
	key := fmt.Sprintf("%s:%d", d.program.Name, i)
	for _, p := range d.programs {
		if p.Name == d.program.Name {
			return alone{newSubject(random, p), key}
		}
	}
	return newGroup(random, d.programs, key)
}

// compare gives what the model says, and how what was seen differs from it. A
// key that has just expired may have been there still, or not.
func (d *differential) compare(e exchange, s seen) (expectation, string) {
	if s.malformed != nil {
		return expectation{}, fmt.Sprintf("reply %v: %v", s.raw, s.malformed)
	}
	now := s.answers[0].ServerNow
	if now < s.sent || now > s.received {
		return expectation{}, fmt.Sprintf("reply %v is of another time than %d to %d", s.raw, s.sent, s.received)
	}
	var x expectation
	var difference string
	for _, before := range s.possible() {
		x = expect(e.call, before, now)
		for i, moves := range x.moves {
			if d.drifts && moves {
				x.latest[i] += s.received - now
			}
		}
		if difference = x.difference(s); difference == "" {
			break
		}
	}
	return x, difference
}

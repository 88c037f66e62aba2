package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/bench/contender"
	"example.com/weir/bench/load"
	"example.com/weir/bench/store"
	"example.com/weir/bench/table"
)

const (
	// batch is how many evaluations one pipeline holds.
	batch = 50
	// pipelines is how many are under way at the same time.
	pipelines = 8
)

// program is a program with everything that it is called with.
type program struct {
	name      string
	digest    string
	keys      []string
	arguments []any
	// is checks a reply: another answer would have another cost.
	is func(reply any) bool
}

// Programs compares what programs alone cost the server: the same client sends
// the same load, and only the program differs.
func Programs(ctx context.Context, plan Plan) (table.Rounds[table.Program], error) {
	client := store.Connect(plan.Address)
	defer client.Close()
	programs, err := newPrograms(ctx, plan, client)
	if err != nil || len(programs) == 0 {
		return nil, err
	}
	plan.Logger.Info("programs")
	server := store.NewObserver(client)
	return InRounds(ctx, plan.Rounds, len(programs), func(ctx context.Context, i int) (table.Program, error) {
		return programs[i].measure(ctx, plan, client, server)
	})
}

func newPrograms(ctx context.Context, plan Plan, client *redis.Client) ([]program, error) {
	var programs []program
	if name := "redis_rate/admission"; plan.Only.MatchString(name) {
		one, err := redisRateProgram(ctx, plan.Address, client)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		one.name = name
		programs = append(programs, one)
	}
	for _, call := range weirCalls() {
		if !plan.Only.MatchString(call.name) {
			continue
		}
		one, err := call.prepare(ctx, plan.Address, client)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.name, err)
		}
		programs = append(programs, one)
	}
	return programs, nil
}

func redisRateProgram(ctx context.Context, address string, client *redis.Client) (program, error) {
	source, arguments, err := contender.RedisRateProgram(ctx, address)
	if err != nil {
		return program{}, err
	}
	digest, err := client.ScriptLoad(ctx, source).Result()
	if err != nil {
		return program{}, err
	}
	keys := make([]string, contender.Subjects)
	for i := range keys {
		keys[i] = fmt.Sprintf("rate:program-%07d", i)
	}
	return program{digest: digest, keys: keys, arguments: arguments, is: func(reply any) bool { return reply == int64(1) }}, nil
}

func (p program) measure(ctx context.Context, plan Plan, client *redis.Client, server store.Observer) (table.Program, error) {
	under := load.Plan{Callers: pipelines, Subjects: len(p.keys), Duration: WarmUp}
	send := func(ctx context.Context, first int) (bool, error) { return true, p.send(ctx, client, first) }
	load.Run(ctx, under, send)

	before, err := server.Usage(ctx)
	if err != nil {
		return table.Program{}, err
	}
	under.Duration = plan.Duration
	sample := load.Run(ctx, under, send)
	after, err := server.Usage(ctx)
	if err != nil {
		return table.Program{}, err
	}
	used, evaluations := after.Since(before), sample.Decisions*batch
	if sample.Errors > 0 {
		return table.Program{}, fmt.Errorf("%s: %w", p.name, sample.Err)
	}
	if calls := used.Calls["evalsha"]; calls != evaluations {
		return table.Program{}, fmt.Errorf("%s: sent %d evaluations, and the server saw %d", p.name, evaluations, calls)
	}
	return table.Program{Program: p.name, Redis: table.Rounded(micros(used.CPU, evaluations))}, nil
}

// send evaluates for a batch of keys, from the first on.
func (p program) send(ctx context.Context, client *redis.Client, first int) error {
	pipe := client.Pipeline()
	commands := make([]*redis.Cmd, batch)
	for i := range commands {
		key := (first + i) % len(p.keys)
		commands[i] = pipe.EvalSha(ctx, p.digest, p.keys[key:key+1], p.arguments...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, command := range commands {
		reply, err := command.Slice()
		if err != nil {
			return err
		}
		if len(reply) == 0 || !p.is(reply[0]) {
			return fmt.Errorf("reply is %v", reply)
		}
	}
	return nil
}

// prepare lets the adapter itself create the state, and takes over its keys.
func (c weirCall) prepare(ctx context.Context, address string, client *redis.Client) (prepared program, err error) {
	weir, err := contender.OpenWeir(ctx, address, redislimit.Pooled, c.policyID, c.parameters)
	if err != nil {
		return program{}, err
	}
	defer func() { err = errors.Join(err, weir.Close()) }()
	if err := load.Prime(ctx, primers, contender.Subjects, weir.Decide); err != nil {
		return program{}, err
	}
	keys, err := store.NewObserver(client).Keys(ctx, contender.KeysOf(c.policyID))
	if err != nil {
		return program{}, err
	}
	if len(keys) != contender.Subjects {
		return program{}, errors.New("the adapter's keys are not where they are looked for")
	}
	return program{
		name:      c.name,
		digest:    c.program.SHA1,
		keys:      keys,
		arguments: c.arguments,
		is:        func(reply any) bool { return reply == c.answer },
	}, nil
}

package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/bench/contender"
	"example.com/weir/bench/load"
	"example.com/weir/bench/store"
	"example.com/weir/bench/table"
	"example.com/weir/lua"
)

const (
	// batch is how many evaluations one pipeline holds.
	batch = 50
	// pipelines is how many are under way at the same time.
	pipelines = 8
)

// program is a program with everything that it is called with.
type program struct {
	name   string
	digest string
	// keys are those of each evaluation.
	keys      [][]string
	arguments []any
	// is checks a reply: another answer would have another cost.
	is func(reply []any) bool
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
	keys := make([][]string, contender.Subjects)
	for i := range keys {
		keys[i] = []string{fmt.Sprintf("rate:program-%07d", i)}
	}
	admits := func(reply []any) bool { return len(reply) > 0 && reply[0] == int64(1) }
	return program{digest: digest, keys: keys, arguments: arguments, is: admits}, nil
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

// send sends a batch of evaluations, from the first on.
func (p program) send(ctx context.Context, client *redis.Client, first int) error {
	pipe := client.Pipeline()
	commands := make([]*redis.Cmd, batch)
	for i := range commands {
		commands[i] = pipe.EvalSha(ctx, p.digest, p.keys[(first+i)%len(p.keys)], p.arguments...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, command := range commands {
		reply, err := command.Slice()
		if err != nil {
			return err
		}
		if !p.is(reply) {
			return fmt.Errorf("reply is %v", reply)
		}
	}
	return nil
}

// prepare lets the adapter itself create the state, and takes over its keys.
func (c weirCall) prepare(ctx context.Context, address string, client *redis.Client) (prepared program, err error) {
	weir, err := c.open(ctx, address)
	if err != nil {
		return program{}, err
	}
	defer func() { err = errors.Join(err, weir.Close()) }()
	if err := load.Prime(ctx, primers, contender.Subjects, weir.Decide); err != nil {
		return program{}, err
	}
	keys, err := c.keys(ctx, store.NewObserver(client))
	if err != nil {
		return program{}, err
	}
	return program{name: c.name, digest: c.program.SHA1, keys: keys, arguments: c.arguments(), is: c.is}, nil
}

func (c weirCall) open(ctx context.Context, address string) (contender.Decider, error) {
	policies := make([]contender.Policy, len(c.levels))
	for i, level := range c.levels {
		policies[i] = level.policy
	}
	if c.program.Name == lua.Layered().Name {
		return contender.OpenLayered(ctx, address, redislimit.Pooled, policies...)
	}
	return contender.OpenWeir(ctx, address, redislimit.Pooled, policies[0])
}

// keys finds the keys of each evaluation, in the order of the levels.
func (c weirCall) keys(ctx context.Context, server store.Observer) ([][]string, error) {
	found := make([][]string, len(c.levels))
	for i, level := range c.levels {
		var err error
		if found[i], err = server.Keys(ctx, contender.KeysOf(level.policy.ID)); err != nil {
			return nil, err
		}
	}
	keys := byRoot(found)
	if len(keys) != contender.Roots(len(c.levels)) {
		return nil, errors.New("the adapter's keys are not where they are looked for")
	}
	return keys, nil
}

// byRoot puts the keys of each level together by what they have in common, which is
// the hash tag of their root. It leaves out a root that has not one key at each
// level.
func byRoot(levels [][]string) [][]string {
	roots := make(map[string][]string, len(levels[0]))
	for _, keys := range levels {
		for _, key := range keys {
			roots[hashTag(key)] = append(roots[hashTag(key)], key)
		}
	}
	var grouped [][]string
	for _, first := range levels[0] { // in the order in which the server lists them
		if keys := roots[hashTag(first)]; len(keys) == len(levels) {
			grouped = append(grouped, keys)
		}
	}
	return grouped
}

// hashTag is what decides a key's slot.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

// is tells whether every level has its answer.
func (c weirCall) is(reply []any) bool {
	if len(reply) != len(c.levels)*replyFields {
		return false
	}
	for i, level := range c.levels {
		if reply[i*replyFields] != level.answer {
			return false
		}
	}
	return true
}

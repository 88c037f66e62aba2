package programmodel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/lua"
)

// Ensure that whatever is wrong with any member of a log, of which a program reads
// a few, it answers as it must, and changes nothing but by an admission.
func TestDamagedLogs(t *testing.T) {
	client := redistest.Primary(t).Client(t)
	for name, program := range map[string]lua.Program{"single": lua.SlidingLog(), "layered": lua.Layered()} {
		t.Run(name, func(t *testing.T) {
			script := redis.NewScript(withClock(program.Source))
			statuses := make(map[reply.Status]int)
			for place := range damagedLog() {
				for _, broken := range brokenMembers {
					log := damagedLog()
					log[place].Member = broken
					ask := damagedCall{script, log, 1 + int64(len(broken))%10}
					statuses[ask.play(t, client)]++
				}
				for i, score := range []float64{-1, 0, 0.5, now - 60_000, now - 59_999, now - 0.5, now, now + 250, now + 251, 1 << 53} {
					log := damagedLog()
					log[place].Score = score
					ask := damagedCall{script, log, 1 + int64(i)}
					statuses[ask.play(t, client)]++
				}
			}
			for _, status := range []reply.Status{reply.Allowed, reply.Denied, reply.StateIncompatible, reply.ClockUnsafe} {
				if statuses[status] == 0 {
					t.Errorf("no reply is %s: %v", status, statuses)
				}
			}
		})
	}
}

// now is the clock of the calls to damaged logs.
const now = 1_800_000_000_000

// damagedLog is a log that is still whole. One admission has left.
func damagedLog() []programmodel.Member {
	return []programmodel.Member{
		{Member: "sl1:1:60000"},
		admission(emptyTotal+2, 2, now-60_000),
		admission(emptyTotal+3, 1, now-50_000),
		admission(emptyTotal+6, 3, now-40_000),
		admission(emptyTotal+7, 1, now-40_000),
		admission(emptyTotal+9, 2, now-10_000),
		admission(emptyTotal+10, 1, now-10),
	}
}

// damagedCall asks for a cost of at most ten when eight are spent.
type damagedCall struct {
	script *redis.Script
	log    []programmodel.Member
	cost   int64
}

func (c damagedCall) play(t *testing.T, client *redis.Client) reply.Status {
	t.Helper()
	const key = "log"
	ctx := t.Context()
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, key)
		p.HSet(ctx, clockKey, "s", now/1000, "u", 0)
		store(ctx, p, key, programmodel.Key{SortedSet: c.log})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := logged(ctx, client, key)
	raw, err := c.script.Run(ctx, client, []string{key}, fmt.Sprintf("sl1:1:60000 10 10 60000 250 %d", c.cost)).Result()
	if err != nil {
		t.Fatalf("cost %d of %v: %v", c.cost, before, err)
	}
	answer, err := reply.Parse(raw)
	if err != nil {
		t.Fatalf("cost %d of %v: %v: %v", c.cost, before, raw, err)
	}
	if after := logged(ctx, client, key); answer.Status != reply.Allowed && !slices.Equal(before, after) {
		t.Fatalf("cost %d of %v: %s, and it became %v", c.cost, before, answer.Status, after)
	}
	return answer.Status
}

func logged(ctx context.Context, client *redis.Client, key string) []redis.Z {
	return client.ZRangeWithScores(ctx, key, 0, -1).Val()
}

package contender

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.com/weir/bench/store"
)

// floors are what no limiter over the same client, asked one by one, can beat.
func floors() []Contender {
	return []Contender{
		{Name: "floor/ping", Command: "ping", Trips: OneTrip, Open: openPing},
		{Name: "floor/evalsha", Command: "evalsha", Trips: OneTrip, Open: openNothing},
	}
}

type ping struct{ *redis.Client }

func openPing(_ context.Context, address string) (Decider, error) {
	return ping{store.Connect(address)}, nil
}

func (p ping) Decide(ctx context.Context, _ int) (bool, error) {
	err := p.Ping(ctx).Err()
	return err == nil, err
}

// nothing runs a program that does nothing.
type nothing struct {
	*redis.Client

	digest string
	keys   []string
}

func openNothing(ctx context.Context, address string) (Decider, error) {
	client := store.Connect(address)
	digest, err := client.ScriptLoad(ctx, "return 1").Result()
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return nothing{Client: client, digest: digest, keys: subjectNames()}, nil
}

func (n nothing) Decide(ctx context.Context, subject int) (bool, error) {
	err := n.EvalSha(ctx, n.digest, n.keys[subject:subject+1]).Err()
	return err == nil, err
}

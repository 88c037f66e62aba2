package contender

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Ensure that the program of redis_rate is read off its client, and the
// arguments with it, but not the key.
func TestEavesdropper(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"}) // is never dialled
	defer client.Close()
	ear := listen(client)
	client.AddHook(admits{})

	source, arguments, err := ear.hear(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(source, `redis.call("GET", rate_limit_key)`) {
		t.Errorf("the source is %q", source)
	}
	limit := RedisRateLimit()
	if want := []any{limit.Burst, limit.Rate, limit.Period.Seconds(), 1}; !slices.Equal(arguments, want) {
		t.Errorf("the arguments are %v, want %v", arguments, want)
	}
}

// admits answers in a server's place.
type admits struct{}

func (admits) DialHook(next redis.DialHook) redis.DialHook { return next }

func (admits) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (admits) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, command redis.Cmder) error {
		command.(*redis.Cmd).SetVal([]any{int64(1), int64(1), "-1", "0"})
		return nil
	}
}

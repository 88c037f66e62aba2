package redislimit_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/shared-contract/ratelimit"
)

// state are the words of the stored line: the identity and the numbers.
func state(t *testing.T, client *redis.Client, key string) []string {
	t.Helper()
	line, err := client.HGet(t.Context(), key, "s").Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(line, " ")
}

// logged are the members of a stored log, the latest last. The first is the
// identity.
func logged(t *testing.T, client *redis.Client, key string) []redis.Z {
	t.Helper()
	members, err := client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// shift moves the stored times of a key back by d, as if d had passed.
func shift(t *testing.T, client *redis.Client, key string, d time.Duration) {
	t.Helper()
	if client.Type(t.Context(), key).Val() == "zset" {
		shiftLog(t, client, key, d)
		return
	}
	words := state(t, client, key)
	program, _, _ := strings.Cut(words[0], ":")
	times := map[string][]int{"fw1": {2}, "sc1": {3}, "tb1": {2, 3}}
	for _, place := range times[program] {
		at, err := strconv.ParseInt(words[place], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		words[place] = strconv.FormatInt(at-d.Milliseconds(), 10)
	}
	client.HSet(t.Context(), key, "s", strings.Join(words, " "))
}

func shiftLog(t *testing.T, client *redis.Client, key string, d time.Duration) {
	t.Helper()
	for _, member := range logged(t, client, key)[1:] {
		client.ZIncrBy(t.Context(), key, -float64(d.Milliseconds()), member.Member.(string))
	}
}

// damage makes the state of one admission unreadable.
type damage func(t *testing.T, client *redis.Client, key string)

func damagesOf(parameters ratelimit.Parameters) map[string]damage {
	damages := map[string]damage{
		"a string": func(t *testing.T, client *redis.Client, key string) { client.Set(t.Context(), key, "x", 0) },
		"a list": instead(func(t *testing.T, client *redis.Client, key string) {
			client.LPush(t.Context(), key, "x")
		}),
		"a foreign hash": instead(func(t *testing.T, client *redis.Client, key string) {
			client.HSet(t.Context(), key, "a", "b")
		}),
		"a foreign sorted set": instead(func(t *testing.T, client *redis.Client, key string) {
			client.ZAdd(t.Context(), key, redis.Z{Member: "a", Score: 1})
		}),
	}
	if parameters.Algorithm() == ratelimit.SlidingLogAlgorithm {
		maps.Copy(damages, damagesOfLog())
	} else {
		maps.Copy(damages, damagesOfLine())
	}
	return damages
}

// instead puts something else in the place of the state.
func instead(put damage) damage {
	return func(t *testing.T, client *redis.Client, key string) {
		client.Del(t.Context(), key)
		put(t, client, key)
	}
}

func damagesOfLine() map[string]damage {
	edited := func(edit func(words []string) []string) damage {
		return func(t *testing.T, client *redis.Client, key string) {
			client.HSet(t.Context(), key, "s", strings.Join(edit(state(t, client, key)), " "))
		}
	}
	number := func(text string) damage {
		return edited(func(words []string) []string { return append([]string{words[0], text}, words[2:]...) })
	}
	return map[string]damage{
		"an empty line":     edited(func([]string) []string { return nil }),
		"a number missing":  edited(func(words []string) []string { return words[:len(words)-1] }),
		"a number too many": edited(func(words []string) []string { return append(words, "1") }),
		"a negative number": number("-1"),
		"a word":            number("many"),
		"a fraction":        number("0.5"),
		"a huge number":     number("99999999999999999999"),
		"another identity": edited(func(words []string) []string {
			return append([]string{"xx1:1:1"}, words[1:]...)
		}),
	}
}

func damagesOfLog() map[string]damage {
	// edited changes the admission, or what says whose log it is.
	edited := func(place int, edit func(*redis.Z)) damage {
		return func(t *testing.T, client *redis.Client, key string) {
			member := logged(t, client, key)[place]
			client.ZRem(t.Context(), key, member.Member)
			edit(&member)
			client.ZAdd(t.Context(), key, member)
		}
	}
	const identity, admission = 0, 1
	named := func(text string) damage { return edited(admission, func(z *redis.Z) { z.Member = text }) }
	at := func(score float64) damage { return edited(admission, func(z *redis.Z) { z.Score = score }) }
	return map[string]damage{
		"another identity":    edited(identity, func(z *redis.Z) { z.Member = "sl1:1:1" }),
		"an identity in time": edited(identity, func(z *redis.Z) { z.Score = 1 }),
		"no admission": func(t *testing.T, client *redis.Client, key string) {
			client.ZRemRangeByRank(t.Context(), key, 1, -1)
		},
		"a word":                named("many"),
		"a short total":         named("1:1"),
		"a huge total":          named("2000000000000001:1"),
		"no units":              named("1000000000000001:0"),
		"units above the total": named("1000000000000001:2"),
		"a fraction of a unit":  named("1000000000000001:0.5"),
		"a fraction of a ms":    at(1_796_000_000_000.5),
		"a negative time":       at(-1),
		"a huge time":           at(1 << 60),
	}
}

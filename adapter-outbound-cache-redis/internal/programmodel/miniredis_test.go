package programmodel_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/lua"
)

// Ensure that the programs, with their own call of TIME, follow the vectors on a
// server whose clock shows each vector's moment exactly, so that times to live
// need no slack.
//
// It is another implementation of the commands, in another Lua. So it cannot
// show how Redis reads and writes numbers, nor its rules for scripts: it does
// not know the first line of a program, and asks neither for memory nor for
// permission before a write. Vectors with numbers that its Lua reads otherwise,
// beyond 64 bits or, as octal, with leading zeros, are for real servers only.
func TestProgramsFollowTheVectorsOnMiniredis(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	for _, program := range lua.Programs() {
		t.Run(program.Name, func(t *testing.T) {
			script := redis.NewScript(strings.TrimPrefix(program.Source, "#!lua\n"))
			vectors := read(t, program.Name)
			played := 0
			for i, vector := range vectors {
				if hasOddNumber(vector) {
					continue
				}
				played++
				if problem := playOnMiniredis(t, server, client, script, vector); problem != "" {
					t.Errorf("vector %d (%s): %s", i+1, vector.Name, problem)
				}
			}
			if played < len(vectors)*9/10 {
				t.Errorf("only %d of %d vectors were played", played, len(vectors))
			}
		})
	}
}

// hasOddNumber tells whether the vector has a number beyond 64 bits or with
// leading zeros.
func hasOddNumber(v programmodel.Vector) bool {
	lines := slices.Concat(v.Arguments, slices.Collect(maps.Values(v.Before.Hash)))
	numbers := strings.FieldsFunc(strings.Join(lines, " "), func(r rune) bool { return r == ' ' || r == ':' })
	return slices.ContainsFunc(numbers, func(text string) bool {
		_, err := strconv.ParseInt(text, 10, 64)
		return errors.Is(err, strconv.ErrRange) || err == nil && len(text) > 1 && text[0] == '0'
	})
}

// Ensure that this comparison sees differences too.
func TestMiniredisComparisonSeesDifferences(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	program := lua.TokenBucket()
	script := redis.NewScript(strings.TrimPrefix(program.Source, "#!lua\n"))
	right := read(t, program.Name)[0]
	for name, spoil := range map[string]func(v *programmodel.Vector){
		"reply":        func(v *programmodel.Vector) { v.Reply[4] = 8 },
		"state":        func(v *programmodel.Vector) { v.After.Hash = map[string]string{"other": "1"} },
		"time to live": func(v *programmodel.Vector) { v.After.TTLMillis++ },
		"clock":        func(v *programmodel.Vector) { v.NowMillis++ },
	} {
		vector := right
		vector.Reply = append([]any(nil), right.Reply...)
		spoil(&vector)
		if playOnMiniredis(t, server, client, script, vector) == "" {
			t.Errorf("%s: the difference was not seen", name)
		}
	}
}

// playOnMiniredis runs script on a key as the vector describes it and says what
// differs.
func playOnMiniredis(t *testing.T, server *miniredis.Miniredis, client *redis.Client, script *redis.Script, v programmodel.Vector) string {
	t.Helper()
	const key = "state"
	server.FlushAll()
	server.SetTime(time.UnixMilli(v.NowMillis).Add(999 * time.Microsecond))
	if v.Before.Other != "" {
		if err := server.Set(key, v.Before.Other); err != nil {
			t.Fatal(err)
		}
	}
	for field, value := range v.Before.Hash {
		server.HSet(key, field, value)
	}
	if v.Before.TTLMillis > 0 {
		server.SetTTL(key, time.Duration(v.Before.TTLMillis)*time.Millisecond)
	}
	arguments := make([]any, len(v.Arguments))
	for i, argument := range v.Arguments {
		arguments[i] = argument
	}
	reply, err := script.Run(t.Context(), client, []string{key}, arguments...).Slice()
	if err != nil {
		return err.Error()
	}
	if got, want := fmt.Sprint(reply), fmt.Sprint(v.Reply); got != want {
		return fmt.Sprintf("reply is %s, must be %s", got, want)
	}
	if got := server.TTL(key).Milliseconds(); got != v.After.TTLMillis {
		return fmt.Sprintf("expires in %d ms, must expire in %d ms", got, v.After.TTLMillis)
	}
	if v.After.Other != "" {
		if got, err := server.Get(key); got != v.After.Other || err != nil {
			return "the foreign value was touched"
		}
		return ""
	}
	if got := client.HGetAll(t.Context(), key).Val(); !maps.Equal(got, v.After.Hash) && len(got)+len(v.After.Hash) > 0 {
		return fmt.Sprintf("state is %v, must be %v", sorted(got), sorted(v.After.Hash))
	}
	return ""
}

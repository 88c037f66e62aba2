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
func hasOddNumber(v programmodel.LayeredVector) bool {
	lines := slices.Clone(v.Arguments)
	for _, key := range v.Before {
		lines = slices.AppendSeq(lines, maps.Values(key.Hash))
		for _, m := range key.SortedSet {
			lines = append(lines, m.Member)
		}
	}
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
	for name, spoil := range map[string]func(v *programmodel.LayeredVector){
		"reply":        func(v *programmodel.LayeredVector) { v.Reply[4] = 8 },
		"state":        func(v *programmodel.LayeredVector) { v.After[0].Hash = map[string]string{"other": "1"} },
		"time to live": func(v *programmodel.LayeredVector) { v.After[0].TTLMillis++ },
		"clock":        func(v *programmodel.LayeredVector) { v.NowMillis++ },
	} {
		vector := right
		vector.Reply, vector.After = slices.Clone(right.Reply), slices.Clone(right.After)
		spoil(&vector)
		if playOnMiniredis(t, server, client, script, vector) == "" {
			t.Errorf("%s: the difference was not seen", name)
		}
	}
}

// playOnMiniredis runs script on keys as the vector describes them and says what
// differs.
func playOnMiniredis(t *testing.T, server *miniredis.Miniredis, client *redis.Client, script *redis.Script, v programmodel.LayeredVector) string {
	t.Helper()
	server.FlushAll()
	server.SetTime(time.UnixMilli(v.NowMillis).Add(999 * time.Microsecond))
	arrange := func(p redis.Pipeliner) error {
		for i, key := range v.Before {
			store(t.Context(), p, v.Keys[i], key)
		}
		return nil
	}
	if _, err := client.Pipelined(t.Context(), arrange); err != nil {
		t.Fatal(err)
	}
	for i, key := range v.Before {
		if key.TTLMillis > 0 {
			server.SetTTL(v.Keys[i], time.Duration(key.TTLMillis)*time.Millisecond)
		}
	}
	if problem := ask(t.Context(), client, script, v); problem != "" {
		return problem
	}
	for i, want := range v.After {
		if got := server.TTL(v.Keys[i]).Milliseconds(); got != want.TTLMillis {
			return fmt.Sprintf("%s expires in %d ms, must expire in %d ms", v.Keys[i], got, want.TTLMillis)
		}
		if problem := holds(t.Context(), client, v.Keys[i], want); problem != "" {
			return problem
		}
	}
	return ""
}

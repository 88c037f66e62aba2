package programmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/lua"
)

// Ensure that the published vectors are what the model says today.
func TestVectorsAreThoseOfTheModel(t *testing.T) {
	files, err := programmodel.Files()
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range files {
		got, err := fs.ReadFile(lua.Vectors(), program+".json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s.json is not what the model says: run `make generate`", program)
		}
	}
}

// clockKey holds the clock of a program whose TIME was replaced.
const clockKey = "clock"

// Ensure that every program does on every server what its vectors say: the
// reply, what each key holds, and its time to live. The server's clock cannot be set, so
// the one call of TIME is replaced by a read of a key; the rest runs as it is.
func TestProgramsFollowTheVectors(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for _, program := range lua.Programs() {
			t.Run(program.Name, func(t *testing.T) {
				if n := strings.Count(program.Source, "redis.call('TIME')"); n != 1 {
					t.Fatalf("TIME is called %d times, must be called once", n)
				}
				script := redis.NewScript(withClock(program.Source))
				for i, vector := range read(t, program.Name) {
					if problem := play(t.Context(), client, script, vector); problem != "" {
						t.Errorf("vector %d (%s): %s", i+1, vector.Name, problem)
					}
				}
			})
		}
	})
}

// withClock is a program that reads its clock from a key.
func withClock(source string) string {
	return strings.Replace(source, "redis.call('TIME')", "redis.call('HMGET', '"+clockKey+"', 's', 'u')", 1)
}

// Ensure that the comparison sees each kind of difference.
func TestVectorComparisonSeesDifferences(t *testing.T) {
	type plant struct{ old, new string }
	client := redistest.Primary(t).Client(t)
	for program, plants := range map[lua.Program]map[string]plant{
		lua.FixedWindow(): {
			"reply":                {"left, 0, reset}", "left + 1, 0, reset}"},
			"stored count":         {"spent = spent + cost", "spent = spent + cost + 1"},
			"time to live":         {"'PEXPIRE', key, expiry", "'PEXPIRE', key, expiry - 5000"},
			"time to live is lost": {"redis.call('PEXPIRE', key, expiry)", ""},
		},
		lua.SlidingLog(): {
			"member":          {"('%d:%d')", "('%d:0%d')"},
			"score":           {"id, effective, state)", "id, effective + 1, state)"},
			"another's score": {"'ZADD', key, 0, id", "'ZADD', key, 1, id"},
			"a member lost":   {"0, id, effective, state)", "effective, state)"},
		},
		lua.Layered(): {
			"reply of the last level": {"local r, p = 7 * i, 5 * i", "local r, p = 7 * i, 5 * i; left = left and left + i - 1"},
			"a level is not written":  {"for i = 1, levels do\n  local key", "for i = 2, levels do\n  local key"},
		},
	} {
		vector := read(t, program.Name)[0]
		source := withClock(program.Source)
		if problem := play(t.Context(), client, redis.NewScript(source), vector); problem != "" {
			t.Fatalf("%s: %s", program.Name, problem)
		}
		for name, plant := range plants {
			if !strings.Contains(source, plant.old) {
				t.Errorf("%s has no %q to plant a fault in", program.Name, plant.old)
				continue
			}
			broken := redis.NewScript(strings.Replace(source, plant.old, plant.new, 1))
			if problem := play(t.Context(), client, broken, vector); problem == "" {
				t.Errorf("%s: the planted fault in the %s was not seen", program.Name, name)
			}
		}
	}
}

// read gives the vectors of a program. Those of a program for one level are as of
// several: of a single one.
func read(t *testing.T, program string) []programmodel.LayeredVector {
	t.Helper()
	var vectors []programmodel.LayeredVector
	if program == programmodel.LayeredProgram {
		decode(t, program, &vectors)
	} else {
		var single []programmodel.Vector
		decode(t, program, &single)
		for _, v := range single {
			vectors = append(vectors, programmodel.LayeredVector{
				Name: v.Name, NowMillis: v.NowMillis, Keys: []string{"state"}, Before: []programmodel.Key{v.Before},
				Arguments: v.Arguments, Reply: v.Reply, After: []programmodel.Key{v.After},
			})
		}
	}
	if len(vectors) == 0 {
		t.Fatalf("%s has no vectors", program)
	}
	return vectors
}

func decode(t *testing.T, program string, vectors any) {
	t.Helper()
	text, err := fs.ReadFile(lua.Vectors(), program+".json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(vectors); err != nil {
		t.Fatal(err)
	}
}

// slack is how much of a key's time to live may pass while a vector is played.
const slack = 4 * time.Second

// play runs script on keys as the vector describes them and says what differs.
func play(ctx context.Context, client *redis.Client, script *redis.Script, v programmodel.LayeredVector) string {
	arrange := func(p redis.Pipeliner) error {
		p.Del(ctx, append([]string{clockKey}, v.Keys...)...)
		p.HSet(ctx, clockKey, "s", v.NowMillis/1000, "u", v.NowMillis%1000*1000+999)
		for i, key := range v.Before {
			name := v.Keys[i]
			store(ctx, p, name, key)
			if ttl := time.Duration(key.TTLMillis) * time.Millisecond; ttl > 0 {
				p.PExpire(ctx, name, max(ttl, 2*slack)) // a shorter one could end before the program runs
			}
		}
		return nil
	}
	if _, err := client.Pipelined(ctx, arrange); err != nil {
		return err.Error()
	}
	if problem := ask(ctx, client, script, v); problem != "" {
		return problem
	}
	for i, name := range v.Keys {
		want := v.After[i]
		ttl := time.Duration(want.TTLMillis) * time.Millisecond
		if ttl > 0 && ttl <= slack {
			continue // the key may be gone by now
		}
		if problem := holds(ctx, client, name, want); problem != "" {
			return problem
		}
		if got := client.PTTL(ctx, name).Val(); ttl == 0 && got > 0 || ttl > 0 && (got > ttl || got < ttl-slack) {
			return fmt.Sprintf("%s expires in %v, must expire in %v (0: never)", name, got, ttl)
		}
	}
	return ""
}

// store puts a key of the model into a server that does not have it.
func store(ctx context.Context, p redis.Pipeliner, name string, key programmodel.Key) {
	switch {
	case key.Other != "":
		p.Set(ctx, name, key.Other, 0)
	case len(key.Hash) > 0:
		p.HSet(ctx, name, key.Hash)
	case len(key.SortedSet) > 0:
		members := make([]redis.Z, len(key.SortedSet))
		for i, m := range key.SortedSet {
			members[i] = redis.Z{Member: m.Member, Score: m.Score}
		}
		p.ZAdd(ctx, name, members...)
	}
}

// ask runs script as the vector says and tells how the reply differs.
func ask(ctx context.Context, client *redis.Client, script *redis.Script, v programmodel.LayeredVector) string {
	arguments := make([]any, len(v.Arguments))
	for i, argument := range v.Arguments {
		arguments[i] = argument
	}
	reply, err := script.Run(ctx, client, v.Keys, arguments...).Slice()
	if err != nil {
		return err.Error()
	}
	if got, want := fmt.Sprint(reply), fmt.Sprint(v.Reply); got != want {
		return fmt.Sprintf("reply is %s, must be %s", got, want)
	}
	return ""
}

// holds tells how what a server holds differs from the model's key, but for its
// time to live.
func holds(ctx context.Context, client *redis.Client, name string, want programmodel.Key) string {
	switch {
	case want.Other != "":
		if got := client.Get(ctx, name).Val(); got != want.Other {
			return "the foreign value was touched"
		}
	case len(want.SortedSet) > 0:
		var got []programmodel.Member
		for _, z := range client.ZRangeWithScores(ctx, name, 0, -1).Val() {
			got = append(got, programmodel.Member{Member: z.Member.(string), Score: z.Score})
		}
		if !slices.Equal(got, want.SortedSet) {
			return fmt.Sprintf("%s is %v, must be %v", name, got, want.SortedSet)
		}
	default:
		if got := client.HGetAll(ctx, name).Val(); !maps.Equal(got, want.Hash) && len(got)+len(want.Hash) > 0 {
			return fmt.Sprintf("%s is %v, must be %v", name, sorted(got), sorted(want.Hash))
		}
	}
	return ""
}

func sorted(fields map[string]string) []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, name+"="+fields[name])
	}
	return pairs
}

// Ensure that the manifest's bounds of every argument are those of the model,
// which the programs follow: the bound itself is accepted, and what lies just
// beyond is not.
func TestManifestBounds(t *testing.T) {
	var manifest struct {
		Programs []struct {
			Name     string
			Argument struct {
				Form    string
				Numbers []struct {
					Name        string
					Least, Most any // a number, or the name of another one
				}
			}
		}
	}
	if err := json.Unmarshal(lua.Manifest(), &manifest); err != nil {
		t.Fatal(err)
	}
	// Values that leave every argument its whole range.
	room := map[string]map[string]int64{
		"revision": {}, "limit": {"window": 1}, "window": {}, "capacity": {"interval": 1, "refill": 999_999_999_999_999},
		"refill": {"interval": 1}, "interval": {"capacity": 1, "refill": 1, "maxCost": 1, "cost": 1},
		"maxCost": {}, "grace": {}, "regression": {}, "cost": {},
	}
	base := map[string]int64{
		"revision": 1, "limit": 100, "window": 60_000, "capacity": 100, "refill": 1, "interval": 3,
		"maxCost": 10, "grace": 1000, "regression": 250, "cost": 5,
	}
	for _, program := range manifest.Programs {
		for _, argument := range program.Argument.Numbers {
			accepts := func(value int64) bool {
				values := maps.Clone(base)
				maps.Copy(values, room[argument.Name])
				values[argument.Name] = value
				if argument.Name == "limit" || argument.Name == "capacity" {
					values["maxCost"], values["cost"] = 1, 1
				}
				if argument.Name == "maxCost" {
					values["cost"] = 1
				}
				texts := make(map[string]string)
				for name, value := range values {
					texts[name] = fmt.Sprint(value)
				}
				line := fill(program.Argument.Form, texts)
				answer, _ := programmodel.Run(program.Name, programmodel.Key{}, []string{line}, 1_800_000_000_000)
				return answer.Status == "ALLOWED"
			}
			bound := func(text any) int64 {
				if n, ok := text.(float64); ok {
					return int64(n)
				}
				value, known := base[text.(string)]
				if !known {
					t.Fatalf("%s: %s is bounded by %q, which is no argument", program.Name, argument.Name, text)
				}
				return value
			}
			least, most := bound(argument.Least), bound(argument.Most)
			if !accepts(least) || !accepts(most) || accepts(least-1) || accepts(most+1) {
				t.Errorf("%s: %s is described as %d to %d; accepted: %v, %v; one beyond: %v, %v", program.Name, argument.Name,
					least, most, accepts(least), accepts(most), accepts(least-1), accepts(most+1))
			}
		}
	}
}

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
	for program, vectors := range programmodel.Vectors() {
		want, err := programmodel.Encode(vectors)
		if err != nil {
			t.Fatal(err)
		}
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
// reply, the fields, and the time to live. The server's clock cannot be set, so
// the one call of TIME is replaced by a read of a key; the rest runs as it is.
func TestProgramsFollowTheVectors(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for _, program := range lua.Programs() {
			t.Run(program.Name, func(t *testing.T) {
				if n := strings.Count(program.Source, "redis.call('TIME')"); n != 1 {
					t.Fatalf("TIME is called %d times, must be called once", n)
				}
				source := strings.Replace(program.Source, "redis.call('TIME')", "redis.call('HMGET', '"+clockKey+"', 's', 'u')", 1)
				script := redis.NewScript(source)
				for i, vector := range read(t, program.Name) {
					if problem := play(t.Context(), client, script, vector); problem != "" {
						t.Errorf("vector %d (%s): %s", i+1, vector.Name, problem)
					}
				}
			})
		}
	})
}

// Ensure that the comparison sees each kind of difference.
func TestVectorComparisonSeesDifferences(t *testing.T) {
	server := redistest.Primary(t)
	client := server.Client(t)
	program := lua.FixedWindow()
	source := strings.Replace(program.Source, "redis.call('TIME')", "redis.call('HMGET', '"+clockKey+"', 's', 'u')", 1)
	vector := read(t, program.Name)[0]
	for name, plant := range map[string]struct{ old, new string }{
		"reply":                {"limit - spent, 0, finish}", "limit - spent + 1, 0, finish}"},
		"stored count":         {"spent = spent + cost", "spent = spent + cost + 1"},
		"time to live":         {"finish + grace - now)", "finish + grace - now - 5000)"},
		"time to live is lost": {"redis.call('PEXPIRE', key, finish + grace - now)", ""},
	} {
		if !strings.Contains(source, plant.old) {
			t.Fatalf("%s: the program has no %q to plant a fault in", name, plant.old)
		}
		broken := redis.NewScript(strings.Replace(source, plant.old, plant.new, 1))
		if problem := play(t.Context(), client, broken, vector); problem == "" {
			t.Errorf("%s: the planted fault was not seen", name)
		}
	}
}

func read(t *testing.T, program string) []programmodel.Vector {
	t.Helper()
	text, err := fs.ReadFile(lua.Vectors(), program+".json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var vectors []programmodel.Vector
	if err := decoder.Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatalf("%s has no vectors", program)
	}
	return vectors
}

// slack is how much of a key's time to live may pass while a vector is played.
const slack = 4 * time.Second

// play runs script on a key as the vector describes it and says what differs.
func play(ctx context.Context, client *redis.Client, script *redis.Script, v programmodel.Vector) string {
	const key = "state"
	arrange := func(p redis.Pipeliner) error {
		p.Del(ctx, key, clockKey)
		p.HSet(ctx, clockKey, "s", v.NowMillis/1000, "u", v.NowMillis%1000*1000+999)
		if v.Before.Other != "" {
			p.Set(ctx, key, v.Before.Other, 0)
		}
		if len(v.Before.Hash) > 0 {
			p.HSet(ctx, key, v.Before.Hash)
		}
		if ttl := time.Duration(v.Before.TTLMillis) * time.Millisecond; ttl > 0 {
			p.PExpire(ctx, key, max(ttl, 2*slack)) // a shorter one could end before the program runs
		}
		return nil
	}
	if _, err := client.Pipelined(ctx, arrange); err != nil {
		return err.Error()
	}
	arguments := make([]any, len(v.Arguments))
	for i, argument := range v.Arguments {
		arguments[i] = argument
	}
	reply, err := script.Run(ctx, client, []string{key}, arguments...).Slice()
	if err != nil {
		return err.Error()
	}
	if got, want := fmt.Sprint(reply), fmt.Sprint(v.Reply); got != want {
		return fmt.Sprintf("reply is %s, must be %s", got, want)
	}
	if v.After.Other != "" {
		if got := client.Get(ctx, key).Val(); got != v.After.Other {
			return "the foreign value was touched"
		}
		return ""
	}
	want := time.Duration(v.After.TTLMillis) * time.Millisecond
	if want > 0 && want <= slack {
		return "" // the key may be gone by now
	}
	if got := client.HGetAll(ctx, key).Val(); !maps.Equal(got, v.After.Hash) && len(got)+len(v.After.Hash) > 0 {
		return fmt.Sprintf("state is %v, must be %v", sorted(got), sorted(v.After.Hash))
	}
	ttl := client.PTTL(ctx, key).Val()
	if want == 0 {
		if ttl > 0 {
			return fmt.Sprintf("expires in %v, must not expire", ttl)
		}
		return ""
	}
	if ttl > want || ttl < want-slack {
		return fmt.Sprintf("expires in %v, must expire in %v", ttl, want)
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

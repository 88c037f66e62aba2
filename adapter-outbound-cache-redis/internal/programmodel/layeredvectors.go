package programmodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LayeredVector is one call of the program for several levels: as a [Vector], with
// a key and an argument for each level.
type LayeredVector struct {
	Name      string   `json:"name"`
	NowMillis int64    `json:"nowMillis"`
	Keys      []string `json:"keys"`
	Before    []Key    `json:"before"`
	Arguments []string `json:"arguments"`
	Reply     []any    `json:"reply"`
	After     []Key    `json:"after"`
}

// LayeredVectors are the vectors of the program for several levels.
func LayeredVectors() []LayeredVector {
	r := &layeredRecorder{}
	r.userAndTenant()
	r.eachAlgorithm()
	r.uncharged()
	r.clocks()
	r.undecided()
	r.malformed()
	return r.vectors
}

// layeredRecorder plays scenarios as recorder does.
type layeredRecorder struct {
	vectors []LayeredVector
	now     int64
	held    map[string]Key
}

func (r *layeredRecorder) scenario(after int64) {
	r.now, r.held = midnight+after, make(map[string]Key)
}

// asked is what a call asks of one key.
type asked struct{ key, argument string }

func (r *layeredRecorder) ask(name string, levels ...asked) {
	var keys, arguments []string
	for _, level := range levels {
		keys, arguments = append(keys, level.key), append(arguments, level.argument)
	}
	r.call(name, keys, arguments)
}

func (r *layeredRecorder) call(name string, keys, arguments []string) {
	vector := LayeredVector{
		Name: name, NowMillis: r.now,
		Keys: append([]string{}, keys...), Before: make([]Key, len(keys)), Arguments: append([]string{}, arguments...),
	}
	for i, key := range keys {
		vector.Before[i] = r.held[key]
	}
	answers, after := RunLayers(keys, vector.Before, arguments, r.now)
	for i, key := range keys {
		r.held[key] = after[i]
	}
	vector.Reply, vector.After = Wire(answers...), slices.Clone(after)
	r.vectors = append(r.vectors, vector)
}

func (r *layeredRecorder) wait(millis int64) {
	r.now += millis
	for name, key := range r.held {
		r.held[name] = key.later(millis)
	}
}

// tenUnits are the arguments, but for the cost, that admit ten units in a minute,
// by the key that they are for.
func tenUnits() map[string]string {
	return map[string]string{
		"window":  "fw1:1:60000 10 10 60000 250 ",
		"counter": "sc1:1:60000 10 10 60000 250 ",
		"log":     "sl1:1:60000 10 10 60000 250 ",
		"bucket":  "tb1:1:1:6000 10 10 60000 250 ",
	}
}

// levelOf asks for cost units under one of those keys.
func levelOf(key string, cost int64) asked {
	return asked{key, tenUnits()[key] + strconv.FormatInt(cost, 10)}
}

// windowOf asks for cost units of a window under any key.
func windowOf(key string, cost int64) asked {
	return asked{key, levelOf("window", cost).argument}
}

// each asks a level of each algorithm for cost units.
func each(cost int64) []asked {
	return []asked{levelOf("window", cost), levelOf("counter", cost), levelOf("log", cost), levelOf("bucket", cost)}
}

func (r *layeredRecorder) userAndTenant() {
	tenant := windowOf("tenant", 1)
	user := func(name string) asked { return asked{name, "fw1:1:60000 3 3 60000 250 1"} }
	r.scenario(0)
	for range 4 {
		r.ask("three of a user, ten of the tenant", user("first"), tenant)
	}
	for _, name := range []string{"second", "third", "fourth"} {
		for range 3 {
			r.ask("other users take what is left", user(name), tenant)
		}
	}
	r.ask("the tenant has nothing left for anybody", user("fifth"), tenant)
	r.ask("both refuse", user("first"), tenant)
	r.wait(60_000)
	r.ask("in the next window", user("first"), tenant)
	r.ask("one level alone", user("first"))
}

func (r *layeredRecorder) eachAlgorithm() {
	r.scenario(0)
	for range 2 {
		r.ask("a level of each algorithm", each(1)...)
		r.wait(1000)
	}
	r.ask("different costs", levelOf("window", 1), levelOf("counter", 2), levelOf("log", 3), levelOf("bucket", 4))
	for place, drained := range each(10) {
		for _, before := range []string{"new", "used"} {
			r.scenario(0)
			if before == "used" {
				r.ask("used before", slices.Delete(each(1), place, place+1)...)
				r.wait(5)
			}
			r.ask("drained by itself", drained)
			r.wait(5)
			r.ask(fmt.Sprintf("the %s refuses, the others are %s", drained.key, before), each(1)...)
		}
	}
	r.scenario(0)
	r.ask("drained", levelOf("counter", 10), levelOf("bucket", 10))
	r.ask("two refuse", each(1)...)
	r.ask("all refuse", levelOf("counter", 1), levelOf("bucket", 1))
	r.wait(6000)
	r.ask("one of two refuses still", each(1)...)

	var eight []asked
	for i := range 8 {
		level := each(1)[i%4]
		eight = append(eight, asked{level.key + " " + strconv.Itoa(i), level.argument})
	}
	r.scenario(0)
	r.ask("eight levels", eight...)
	r.ask("eight levels", eight...)
	r.ask("nine levels", append(eight, levelOf("window", 1))...)
}

// uncharged plays what a level says of earlier windows when another refuses.
func (r *layeredRecorder) uncharged() {
	full := windowOf("full", 1)
	r.scenario(50_000)
	r.ask("spent in an earlier window", each(4)...)
	for _, later := range []int64{20_000, 39_999, 1, 60_000, 60_000} {
		r.wait(later)
		r.ask("the full one", windowOf("full", 10))
		r.ask("what is left of an earlier window", append(each(1), full)...)
	}
}

func (r *layeredRecorder) clocks() {
	r.scenario(0)
	r.ask("all at one moment", each(1)...)
	r.wait(-100)
	r.ask("the clock ran back within the bound", append(each(1), windowOf("new", 1))...)
	r.wait(-151)
	r.ask("the clock ran back beyond the bound for some", append(each(1), windowOf("later", 1))...)
	r.ask("drained", windowOf("full", 10))
	r.ask("some are unsafe, one refuses", append(each(1), windowOf("full", 1))...)
}

func (r *layeredRecorder) undecided() {
	foreign := map[string]Key{
		"string":     {Other: "somebody else's"},
		"hash":       {Hash: map[string]string{"name": "somebody else's"}, TTLMillis: 1000},
		"sorted set": {SortedSet: []Member{{"somebody else's", 1}}},
	}
	for _, kind := range []string{"string", "hash", "sorted set"} {
		for place := range each(1) {
			r.scenario(0)
			r.held[each(1)[place].key] = foreign[kind]
			r.ask("somebody else's "+kind, each(1)...)
		}
	}
	for place := range each(1) {
		r.scenario(0)
		r.ask("a level of each algorithm", each(1)...)
		edited := each(1)
		edited[place].argument = strings.Replace(edited[place].argument, "1:1:", "1:2:", 1)
		r.ask("another revision at one level", edited...)
	}
	r.scenario(0)
	r.held["window"] = foreign["string"]
	r.ask("drained", levelOf("bucket", 10))
	r.ask("one is somebody else's, one refuses", each(1)...)
	r.wait(-300)
	r.ask("one is somebody else's, one is unsafe", each(1)...)
	broken := each(1)
	broken[1].argument = "sc1:1:60000 10 10 60000 250 0"
	r.ask("one is somebody else's, one is unsafe, one is malformed", broken...)
}

func (r *layeredRecorder) malformed() {
	r.scenario(0)
	levels := each(1)
	for place := range levels {
		for _, argument := range []string{
			"", "fw1", "xx1:1:60000 10 10 60000 250 1", strings.TrimSuffix(levels[place].argument, " 1"), levels[place].argument + " 1",
			strings.TrimSuffix(levels[place].argument, "1") + "11", "x" + levels[place].argument,
		} {
			broken := each(1)
			broken[place].argument = argument
			r.ask("the argument of a level is "+strconv.Quote(argument), broken...)
		}
	}
	keys, arguments := []string{"window", "counter"}, []string{levels[0].argument, levels[1].argument}
	r.call("no key and no argument", nil, nil)
	r.call("no key", nil, arguments)
	r.call("no argument", keys, nil)
	r.call("a key too many", append(keys, "log"), arguments)
	r.call("an argument too many", keys, append(arguments, levels[2].argument))
	r.ask("a key twice", levels[0], levels[0])
	r.ask("a key twice, under two algorithms", levels[0], asked{"window", levels[1].argument})
	r.ask("a key twice among others", levels[0], levels[1], levels[2], asked{"counter", levels[3].argument})
	r.ask("what is well formed still admits", levels...)
}

package programmodel

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Vector is one call of a program: what is stored, what is asked and when, and
// what must follow.
type Vector struct {
	Name      string   `json:"name"`
	NowMillis int64    `json:"nowMillis"`
	Before    Key      `json:"before"`
	Arguments []string `json:"arguments"`
	Reply     []any    `json:"reply"`
	After     Key      `json:"after"`
}

// Vectors are the vectors of each program for one level, by its name. Consecutive
// vectors of one scenario carry on from each other's key.
func Vectors() map[string][]Vector {
	return map[string][]Vector{
		"rate-fixed-window-v1":    fixedWindowVectors(),
		"rate-sliding-counter-v1": slidingCounterVectors(),
		"rate-sliding-log-v1":     slidingLogVectors(),
		"rate-token-bucket-v1":    tokenBucketVectors(),
	}
}

// midnight is where the scenarios start, in ms since the epoch: the beginning
// of a minute, an hour and a day.
const midnight int64 = 1_800_057_600_000

// recorder plays scenarios against the model and notes each step.
type recorder struct {
	program string
	vectors []Vector

	key    Key
	now    int64
	policy []string // the numbers of the argument, without the cost
}

// scenario starts afresh at the given moment after midnight.
func (r *recorder) scenario(after int64, policy ...string) {
	r.key, r.now, r.policy = Key{}, midnight+after, policy
}

// ask notes a call of cost units.
func (r *recorder) ask(name string, cost int64) {
	r.call(name, r.line(append(slices.Clone(r.policy), strconv.FormatInt(cost, 10))))
}

func (r *recorder) line(numbers []string) string { return shapes()[r.program].argument(numbers) }

func (r *recorder) call(name string, arguments ...string) {
	if arguments == nil {
		arguments = []string{} // which JSON writes as a list, too
	}
	answer, after := Run(r.program, r.key, arguments, r.now)
	r.vectors = append(r.vectors, Vector{
		Name: name, NowMillis: r.now, Before: r.key, Arguments: arguments, Reply: Wire(answer), After: after,
	})
	r.key = after
}

// wait moves the clock, backwards too, and with it the key's time to live.
func (r *recorder) wait(millis int64) {
	r.now += millis
	r.key = r.key.later(millis)
}

// later is what is left of the key after so long.
func (k Key) later(millis int64) Key {
	if k.TTLMillis == 0 {
		return k
	}
	if k.TTLMillis <= millis {
		return Key{}
	}
	k.TTLMillis -= millis
	return k
}

// set overwrites a number of the policy, as an operator's edit does.
func (r *recorder) set(position int, value string) { r.policy[position] = value }

// damage overwrites a word of the stored line; the first is the identity.
func (r *recorder) damage(position int, value string) {
	words := r.words()
	words[position] = value
	r.store(strings.Join(words, " "))
}

func (r *recorder) words() []string { return strings.Split(r.key.Hash[stateField], " ") }

func (r *recorder) store(line string) {
	r.key.Hash = maps.Clone(r.key.Hash)
	r.key.Hash[stateField] = line
}

// notNumbers are what is no number to a program, whatever the server's Lua would
// make of it.
var notNumbers = []string{
	"", "abc", "-1", "-0", "+1", "1.5", "1.0", "1e3", "0x10", " 1", "1 ", "1 1", "1\n", "1\x00",
	"9007199254740992", "99999999999999999999999999",
}

// common plays what every program must do alike. policy is one that admits at
// least two calls of 1 unit; damages plays what only such a state can suffer.
func (r *recorder) common(policy []string, damages func()) {
	r.clock(policy)
	r.identity(policy)
	damages()
	r.foreign()
	r.arguments(policy)
}

// start leaves the state of one admission, five milliseconds ago.
func (r *recorder) start(policy []string) {
	r.scenario(10_000, slices.Clone(policy)...)
	r.ask("a new subject", 1)
	r.wait(5)
}

func (r *recorder) clock(policy []string) {
	r.start(policy)
	r.wait(-105)
	r.ask("the clock ran back within the bound", 1)
	r.wait(-250)
	r.ask("the clock ran back beyond the bound", 1)
	r.wait(1)
	r.ask("the clock ran back beyond the bound by less", 1)

	r.start(policy)
	r.key.TTLMillis = 0
	r.ask("a key that lost its time to live", 1)
}

func (r *recorder) identity(policy []string) {
	for position := range shapes()[r.program].identifying {
		r.start(policy)
		r.set(position, "7")
		r.ask("another revision, window, refill or interval: number "+strconv.Itoa(position+1), 1)
	}
}

// damagedLines plays what can be wrong with a line; state are the names of its
// numbers.
func (r *recorder) damagedLines(policy []string, state ...string) {
	for position, name := range state {
		for _, broken := range notNumbers {
			r.start(policy)
			r.damage(1+position, broken)
			r.ask("stored "+name+" is "+strconv.Quote(broken), 1)
		}
		r.start(policy)
		r.damage(1+position, "0000"+r.words()[1+position])
		r.ask("stored "+name+" has leading zeros", 1)
		r.start(policy)
		r.store(strings.Join(slices.Delete(r.words(), 1+position, 2+position), " "))
		r.ask("stored "+name+" is missing", 1)
	}
	r.start(policy)
	r.store(r.key.Hash[stateField] + " 1")
	r.ask("a number too many is stored", 1)
	r.start(policy)
	r.store("")
	r.ask("nothing is stored", 1)
	r.start(policy)
	r.damage(0, "")
	r.ask("stored identity is missing", 1)
	r.start(policy)
	r.damage(0, "xx1:1:1")
	r.ask("stored identity is another program's", 1)
	r.start(policy)
	r.key.Hash = maps.Clone(r.key.Hash)
	r.key.Hash["name"] = "somebody else's"
	r.ask("a foreign field beside the state", 1)
}

func (r *recorder) foreign() {
	r.key = Key{Hash: map[string]string{"name": "somebody else's"}, TTLMillis: 1000}
	r.ask("a foreign hash", 1)
	r.key = Key{Other: "somebody else's"}
	r.ask("a key of another type", 1)
	r.key = Key{SortedSet: []Member{{"somebody else's", 1}}}
	r.ask("a foreign sorted set", 1)
}

func (r *recorder) arguments(policy []string) {
	r.start(policy)
	last := len(policy)
	valid := append(slices.Clone(policy), "1")
	with := func(position int, value string) string {
		changed := slices.Clone(valid)
		changed[position] = value
		return r.line(changed)
	}
	line := r.line(valid)
	r.call("no argument")
	r.call("an argument too many", line, "1")
	for _, broken := range []string{
		"", " " + line, line + " ", line + "\n", line + " 1", strings.TrimSuffix(line, " 1"),
		strings.Replace(line, " ", "  ", 1), strings.Replace(line, " ", "\t", 1), strings.ReplaceAll(line, " ", ","),
		"x" + line, strings.Replace(line, ":", ":1:", 1), strings.Join(valid, " "),
	} {
		r.call("the argument is "+strconv.Quote(broken), broken)
	}
	for position := range valid {
		for _, broken := range notNumbers {
			r.call("number "+strconv.Itoa(position+1)+" is "+strconv.Quote(broken), with(position, broken))
		}
	}
	for position := 0; position <= last; position++ {
		if position == last-1 || position == last-2 {
			continue // a grace or a regression bound may be zero
		}
		r.call("number "+strconv.Itoa(position+1)+" is zero", with(position, "0"))
	}
	r.call("leading zeros", with(last, "0000000000000000001"))
	r.call("cost above the maximum", with(last, "11"))
	r.call("maximum cost above the limit", with(last-3, "1000"))
	r.call("regression above the grace", with(last-1, "60001"))
	r.call("grace above 30 days", with(last-2, "2592000001"))
}

func fixedWindowVectors() []Vector {
	r := &recorder{program: "rate-fixed-window-v1"}
	policy := []string{"1", "60000", "100", "10", "60000", "250"}

	r.scenario(0, "1", "60000", "3", "3", "60000", "250")
	for range 4 {
		r.ask("three in a minute", 1)
		r.wait(10_000)
	}
	r.wait(19_999)
	r.ask("denied in the window's last millisecond", 1)
	r.wait(1)
	r.ask("admitted with the next window", 3)

	r.scenario(59_000, "1", "60000", "10", "10", "0", "0")
	r.ask("no grace", 10)
	r.wait(1000)
	r.ask("a full burst again across the border", 10)

	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	r.ask("usage before the edit", 5)
	r.set(2, "8")
	r.ask("limit raised by three", 4)
	r.ask("limit raised by three", 3)
	r.set(2, "2")
	r.set(3, "2")
	r.ask("limit lowered below usage", 1)

	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	r.ask("armed with the old grace", 1)
	r.set(4, "1000")
	r.ask("a new grace waits for the next window", 1)
	r.wait(60_000)
	r.ask("the next window takes the new grace", 1)

	r.scenario(0, "999999999999999", "316224000000", "999999999999999", "999999999999999", "2592000000", "2592000000")
	r.ask("the largest of everything", 999_999_999_999_999)
	r.ask("the largest of everything", 1)
	r.scenario(0, "1", "1", "1", "1", "0", "0")
	r.ask("the smallest of everything", 1)
	r.ask("the smallest of everything", 1)

	r.common(policy, func() { r.damagedLines(policy, "spent", "last") })
	return r.vectors
}

func slidingCounterVectors() []Vector {
	r := &recorder{program: "rate-sliding-counter-v1"}
	policy := []string{"1", "60000", "100", "10", "60000", "250"}

	r.scenario(6_000, "1", "60000", "100", "100", "60000", "250")
	r.key = Key{Hash: map[string]string{
		stateField: "sc1:1:60000 50 10 " + strconv.FormatInt(r.now, 10),
	}, TTLMillis: 120_000}
	r.ask("50 in the previous window, 10 in this, a tenth in", 46)
	r.ask("50 in the previous window, 10 in this, a tenth in", 45)
	r.ask("50 in the previous window, 10 in this, a tenth in", 1)
	r.wait(1200)
	r.ask("one more has slid out", 1)

	r.scenario(50_000, "1", "60000", "10", "10", "60000", "250")
	r.ask("a full window", 10)
	r.ask("denied until this window slides out", 1)
	r.wait(15_999)
	r.ask("a millisecond before the announced time", 1)
	r.wait(1)
	r.ask("at the announced time", 1)
	r.wait(120_000)
	r.ask("after two windows nothing is left", 10)

	r.scenario(900, "1", "1000", "1", "1", "60000", "250")
	r.ask("limit one", 1)
	r.wait(200)
	r.ask("the carried share is not rounded away", 1)
	r.wait(900)
	r.ask("limit one, a window later", 1)

	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	r.ask("usage before the edit", 5)
	r.set(2, "8")
	r.ask("limit raised by three", 3)
	r.set(2, "2")
	r.set(3, "2")
	r.ask("limit lowered below usage", 1)

	r.scenario(0, "1", "9007199254", "9007199254", "9007199254", "2592000000", "0")
	r.ask("the largest of everything", 9_007_199_254)
	r.ask("the largest of everything", 1)
	r.scenario(0, "1", "1", "1", "1", "0", "0")
	r.ask("the smallest of everything", 1)
	r.ask("the smallest of everything", 1)
	r.wait(1)
	r.ask("the smallest of everything, in the next window", 1)

	r.common(policy, func() { r.damagedLines(policy, "previous", "current", "last") })
	return r.vectors
}

func tokenBucketVectors() []Vector {
	r := &recorder{program: "rate-token-bucket-v1"}
	policy := []string{"1", "1", "3000", "100", "10", "60000", "250"}

	r.scenario(0, "1", "1", "3000", "10", "10", "60000", "250")
	for range 20 {
		r.ask("ten tokens, one per three seconds, asked every second", 1)
		r.wait(1000)
	}

	r.scenario(0, "1", "1", "100", "10", "10", "60000", "250")
	r.ask("drained", 10)
	r.wait(250)
	r.ask("a quarter of a second brings two and a half tokens", 3)
	r.wait(49)
	r.ask("a millisecond before the announced time", 3)
	r.wait(1)
	r.ask("at the announced time", 3)
	r.wait(3_600_000)
	r.ask("a bucket never holds more than its capacity", 1)

	r.scenario(0, "1", "7", "3", "1000", "1000", "0", "0")
	r.ask("a refill that divides nothing", 1000)
	r.wait(1)
	r.ask("a refill that divides nothing", 3)
	r.ask("no grace", 1)

	r.scenario(0, "1", "1", "1000", "1000", "1000", "60000", "250")
	r.ask("usage before the edit", 1)
	r.set(3, "10")
	r.set(4, "10")
	r.ask("capacity lowered", 10)
	r.ask("capacity lowered", 9)
	r.set(3, "5")
	r.set(4, "5")
	r.ask("capacity lowered below the debt", 1)
	r.set(3, "20")
	r.ask("capacity raised", 5)

	r.scenario(0, "1", "1", "1000", "10", "10", "5000", "250")
	r.ask("armed for twice the grace", 1)
	r.ask("not armed again while a grace is left", 1)
	r.ask("not armed again while a grace is left", 3)
	r.ask("armed again", 1)
	r.set(5, "1000")
	r.ask("a shorter grace arms again", 1)

	r.scenario(0, "1", "999999999999998", "9", "999999999999999", "999999999999999", "2592000000", "0")
	r.ask("the largest capacity", 999_999_999_999_999)
	r.ask("the largest capacity", 1)
	r.scenario(0, "1", "1", "316224000000", "1", "1", "0", "0")
	r.ask("the slowest refill", 1)
	r.ask("the slowest refill", 1)
	r.damage(1, "316224000001")
	r.ask("a debt that no bucket can have", 1)

	r.common(policy, func() { r.damagedLines(policy, "debt", "last", "armed") })
	return r.vectors
}

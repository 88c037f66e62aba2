package programmodel_test

import (
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/ratelimit"
)

// subject is somebody who asks a program again and again, under one policy that
// is edited now and then, while the clock jumps and others meddle with the key.
type subject struct {
	random  *rand.Rand
	program program
	policy  map[string]int64 // the arguments by name, but for the cost
	stored  image            // what the server was last seen to hold
	healthy image            // what to go back to once stored has been spoiled
	spoiled bool
	last    reply.Reply
}

// step is what a subject asks, and the key that it finds.
type step struct {
	move      string // what happened before the call
	before    image
	arranged  bool // before is not there yet
	keys      int  // how many keys are named
	arguments []string
	cost      int64
}

// newSubject is a subject that is not known yet: whatever its key held before is
// spoiled.
func newSubject(random *rand.Rand, p program) *subject {
	return &subject{random: random, program: p, policy: randomPolicy(random, p), spoiled: true}
}

// moves are what can happen before a call, and how often. The mild ones come first:
// they leave a call that is decided, unless the clock runs back too far.
var moves = []struct {
	name   string
	weight int
	make   func(s *subject, now int64, next *step)
}{
	{"nothing", 38, func(*subject, int64, *step) {}},
	{"time passes", 16, (*subject).passTime},
	{"the last admission is at the border of a window", 6, (*subject).atBorder},
	{"the usage is another", 8, (*subject).otherUsage},
	{"the usage is at the edge of what the call may spend", 2, (*subject).usageAtEdge},
	{"the moments in the state are at their edge", 3, (*subject).momentsAtEdge},
	{"the policy is edited", 6, (*subject).edit},
	{"the clock runs back", 8, (*subject).runBack},
	{"the key does not expire", 1, func(_ *subject, _ int64, next *step) { next.before.expiresAt = 0 }},
	{"the key is lost", 1, func(_ *subject, _ int64, next *step) { next.before = image{} }},
	{"another policy's call", 2, (*subject).strangeCall},
	{"malformed arguments", 4, (*subject).malformedCall},
	{"another number of keys", 1, func(s *subject, _ int64, next *step) { next.keys = 2 * s.random.IntN(2) }},
	{"damaged state", 4, (*subject).damage},
	{"somebody else's key", 1, (*subject).foreignKey},
}

// mild is how many moves are.
const mild = 7

func weights(some int) (sum int) {
	for _, move := range moves[:some] {
		sum += move.weight
	}
	return sum
}

// next is the next step of the subject's life, by one of the first moves; now is
// about what the server's clock shows.
func (s *subject) next(now int64, some int) step {
	next := step{
		before:   s.stored,
		arranged: s.spoiled,
		keys:     1,
		cost:     between(s.random, 1, s.policy["maxCost"]),
	}
	if s.spoiled {
		next.before, s.spoiled = s.healthy, false
	}
	unmoved := next.before
	drawn := s.random.IntN(weights(some))
	for _, move := range moves[:some] {
		if drawn -= move.weight; drawn < 0 {
			next.move = move.name
			move.make(s, now, &next)
			break
		}
	}
	if !next.before.same(unmoved) {
		next.arranged = true
	}
	if next.arranged {
		next.before = lasting(next.before, now)
	}
	if next.arguments == nil {
		next.arguments = []string{s.call(next.cost)}
	}
	return next
}

// saw notes what became of the step.
func (s *subject) saw(after image, answer reply.Reply) {
	s.stored, s.last = after, answer
}

// call is the argument of a call.
func (s *subject) call(cost int64) string {
	values := maps.Clone(s.policy)
	values["cost"] = cost
	return s.program.line(values)
}

// leastLife is how long a key lives at least that a test puts there, so that it
// is there when the program looks. What the programs themselves write may live
// for a millisecond.
const leastLife = 30_000

func lasting(i image, now int64) image {
	if i.expiresAt == 0 {
		return i
	}
	if i.expiresAt <= now {
		return image{}
	}
	i.expiresAt = max(i.expiresAt, now+leastLife)
	return i
}

// lastAdmission is the earliest moment of the state, that of the last admission.
func (s *subject) lastAdmission(i image) int64 {
	if s.program.logs {
		return lastOfLog(i.log)
	}
	earliest := i.number(s.program.times[0])
	for _, field := range s.program.times {
		earliest = min(earliest, i.number(field))
	}
	return earliest
}

// shift moves all moments of the key so that the last admission was at moment:
// to the program that is as if the clock had been set.
func (s *subject) shift(i image, moment int64) image {
	if i.empty() {
		return i
	}
	by := max(0, moment) - s.lastAdmission(i)
	i.hash, i.log = maps.Clone(i.hash), shiftedLog(i.log, by)
	for _, field := range s.program.times {
		i.hash[field] = strconv.FormatInt(i.number(field)+by, 10)
	}
	if i.expiresAt > 0 {
		i.expiresAt = max(1, i.expiresAt+by)
	}
	return i
}

// period is the time that matters to the policy: its window, or what its bucket
// takes to fill.
func (s *subject) period() int64 {
	if window, ok := s.policy["window"]; ok {
		return window
	}
	return max(1, s.policy["capacity"]*s.policy["interval"]/s.policy["refill"])
}

func (s *subject) passTime(now int64, next *step) {
	var passed int64
	switch s.random.IntN(6) {
	case 0:
		passed = s.period()*s.random.Int64N(3) + s.random.Int64N(7) - 3
	case 1, 2: // until just about when the last call was told to come again
		passed = now - s.lastAdmission(next.before) + s.last.RetryAfterMillis + s.random.Int64N(9) - 6
	case 3:
		passed = s.random.Int64N(2 * s.period())
	default:
		passed = between(s.random, 0, 2*s.period())
	}
	next.before = s.shift(next.before, now-passed)
}

func (s *subject) runBack(now int64, next *step) {
	bound := s.policy["regression"]
	var back int64
	switch s.random.IntN(5) {
	case 0:
		back = bound + s.random.Int64N(60) - 20
	case 1:
		back = s.random.Int64N(bound + 1)
	case 2:
		back = bound + between(s.random, 0, 1<<50)
	default:
		back = between(s.random, 0, bound+10)
	}
	next.before = s.shift(next.before, now+back)
}

func (s *subject) atBorder(now int64, next *step) {
	window, ok := s.policy["window"]
	if !ok {
		return
	}
	windows := s.random.Int64N(4) - 2 // the next border can be where the clock ran back from
	border := now - now%window - windows*window
	next.before = s.shift(next.before, border+s.random.Int64N(3)-1)
}

// landmarks are numbers at which programs may change their mind.
func (s *subject) landmarks(cost int64) []int64 {
	marks := []int64{
		0, 1, cost, s.policy["revision"], s.policy["grace"], s.policy["regression"],
		ratelimit.MaxQuota, 1<<53 - 1, (1<<53 - 1) / 1_000_000, ratelimit.MaxWindow.Milliseconds(), 30 * 24 * 3_600_000,
	}
	if limit, ok := s.policy["limit"]; ok {
		marks = append(marks, limit-cost, limit, s.policy["window"])
	} else {
		capacity, interval, refill := s.policy["capacity"], s.policy["interval"], s.policy["refill"]
		marks = append(marks, (capacity-cost)*interval, capacity*interval, refill, interval)
		if refill < 1<<63/316_224_000_001-1 {
			marks = append(marks, 316_224_000_000*refill) // the largest debt
		}
	}
	return marks
}

func (s *subject) landmark(cost int64) int64 {
	marks := s.landmarks(cost)
	return max(0, marks[s.random.IntN(len(marks))]+s.random.Int64N(3)-1)
}

func (s *subject) otherUsage(now int64, next *step) {
	if next.before.empty() {
		return
	}
	if s.program.logs {
		s.otherUsageOfLog(now, next)
		return
	}
	for _, field := range s.program.numbers {
		value := s.landmark(next.cost)
		if s.random.IntN(2) == 0 {
			value = s.random.Int64N(s.fullUsage() + 1)
		}
		next.before = next.before.with(field, strconv.FormatInt(value, 10))
	}
}

// fullUsage is the usage that leaves nothing.
func (s *subject) fullUsage() int64 {
	if limit, ok := s.policy["limit"]; ok {
		return limit
	}
	return s.policy["capacity"] * s.policy["interval"]
}

// usageAtEdge makes one of the numbers the largest with which the call is
// admitted, or one more. The clock is made to have run back, since only then it
// is known exactly what the program reckons with.
func (s *subject) usageAtEdge(now int64, next *step) {
	if next.before.empty() {
		return
	}
	if s.program.logs {
		s.usageAtEdgeOfLog(now, next)
		return
	}
	s.otherUsage(now, next)
	next.before = s.shift(next.before, now+s.random.Int64N(s.policy["regression"]+1))
	field := s.program.numbers[s.random.IntN(len(s.program.numbers))]
	call := []string{s.call(next.cost)}
	admitted := func(usage int64) bool {
		key := next.before.with(field, strconv.FormatInt(usage, 10)).key()
		answer, _ := programmodel.Run(s.program.Name, key, call, now)
		return answer.Status == reply.Allowed
	}
	edge, beyond := int64(0), s.fullUsage()+1
	for beyond-edge > 1 {
		if middle := edge + (beyond-edge)/2; admitted(middle) {
			edge = middle
		} else {
			beyond = middle
		}
	}
	next.before = next.before.with(field, strconv.FormatInt(edge+s.random.Int64N(2), 10))
}

// momentsAtEdge makes the moments other than the last admission such as the
// call would write them with one or two graces, more or less.
func (s *subject) momentsAtEdge(now int64, next *step) {
	if next.before.empty() {
		return
	}
	if s.program.logs {
		s.momentsAtEdgeOfLog(now, next)
		return
	}
	last := now + s.random.Int64N(s.policy["regression"]+1)
	next.before = s.shift(next.before, last)
	answer, _ := programmodel.Run(s.program.Name, next.before.key(), []string{s.call(next.cost)}, now)
	for _, field := range s.program.times {
		if next.before.number(field) == last {
			continue
		}
		moment := answer.ResetAt + s.random.Int64N(3)*s.policy["grace"] + s.random.Int64N(3) - 1
		next.before = next.before.with(field, strconv.FormatInt(max(last, moment), 10))
	}
}

// edit changes what may change under one revision.
func (s *subject) edit(_ int64, next *step) {
	edited := randomPolicy(s.random, s.program)
	quota := "limit"
	if _, ok := edited[quota]; !ok {
		quota = "capacity"
		interval, refill := s.policy["interval"], s.policy["refill"]
		edited[quota] = between(s.random, 1, mostCapacity(interval, refill))
	}
	if s.random.IntN(3) == 0 {
		edited[quota] = s.policy[quota] // the graces and the cost only
	}
	for _, name := range []string{quota, "grace", "regression"} {
		s.policy[name] = edited[name]
	}
	s.policy["maxCost"] = between(s.random, 1, s.policy[quota])
	next.cost = between(s.random, 1, s.policy["maxCost"])
}

func (s *subject) strangeCall(_ int64, next *step) {
	stranger := subject{random: s.random, program: s.program, policy: randomPolicy(s.random, s.program)}
	if s.random.IntN(2) == 0 {
		stranger.policy = maps.Clone(s.policy)
		stranger.policy["revision"] = between(s.random, 1, ratelimit.MaxQuota)
	}
	next.arguments = []string{stranger.call(between(s.random, 1, stranger.policy["maxCost"]))}
}

// texts are no numbers, or numbers in a form that programs do not write, or as
// large as can be.
var texts = []string{
	"", " ", "abc", "-1", "-0", "+1", "1.5", "1.0", "1e3", "1E3", "0x10", "1 ", " 1", "1 1", "\n1", "1\n", "1\x00", "01", "000",
	"nan", "inf", "1_000", "1,000", "٣", "9007199254740992", "9007199254740993", "18446744073709551617",
	"99999999999999999999999999", "0000000000000000000000001", "9007199254740991",
}

func (s *subject) text(cost int64) string {
	if s.random.IntN(2) == 0 {
		return texts[s.random.IntN(len(texts))]
	}
	return strconv.FormatInt(s.landmark(cost), 10)
}

func (s *subject) malformedCall(_ int64, next *step) {
	line := s.call(next.cost)
	switch s.random.IntN(10) {
	case 0:
		next.arguments = []string{}
		return
	case 1:
		next.arguments = []string{line, line}
		return
	case 2:
		next.arguments = []string{line[:s.random.IntN(len(line))]}
		return
	case 3:
		next.arguments = []string{line + " 1"}
		return
	}
	argument := s.program.arguments[s.random.IntN(len(s.program.arguments))]
	text := s.text(next.cost)
	switch {
	case s.random.IntN(2) == 0:
		text = strconv.FormatInt(s.beyond(argument, next.cost), 10)
	case argument.Name == "refill" || argument.Name == "interval":
		// Numbers that are not reduced break the caller's promise, which no program checks.
		text = texts[s.random.IntN(6)]
	}
	values := map[string]string{"cost": strconv.FormatInt(next.cost, 10)}
	for name, value := range s.policy {
		values[name] = strconv.FormatInt(value, 10)
	}
	values[argument.Name] = text
	next.arguments = []string{fill(s.program.form, values)}
}

// beyond is the first number beyond a bound of an argument.
func (s *subject) beyond(a argument, cost int64) int64 {
	values := maps.Clone(s.policy)
	values["cost"] = cost
	bound := func(b any) int64 {
		if name, ok := b.(string); ok {
			return values[name]
		}
		return int64(b.(float64))
	}
	if a.Name == "capacity" && s.random.IntN(2) == 0 {
		return mostCapacity(s.policy["interval"], s.policy["refill"]) + 1
	}
	if least := bound(a.Least); least > 0 && s.random.IntN(3) == 0 {
		return least - 1
	}
	return bound(a.Most) + 1
}

func (s *subject) spoil(next *step, spoiled image) {
	s.healthy, s.spoiled = next.before, true
	next.before, next.arranged = spoiled, true
}

func (s *subject) damage(now int64, next *step) {
	if next.before.empty() {
		return
	}
	if s.program.logs {
		s.damageOfLog(now, next)
		return
	}
	fields := slices.Sorted(maps.Keys(next.before.hash))
	field := fields[s.random.IntN(len(fields))]
	damaged := next.before.with(field, s.text(next.cost))
	switch s.random.IntN(6) {
	case 0:
		delete(damaged.hash, field)
	case 1:
		damaged = next.before.with("surplus", "1") // which is no damage
	case 2:
		damaged = next.before.with(word(0), next.before.hash[word(0)]+"0")
	}
	s.spoil(next, damaged)
}

func (s *subject) foreignKey(now int64, next *step) {
	foreign, own := image{hash: map[string]string{"name": "somebody else's"}}, "hash"
	if s.program.logs {
		foreign, own = image{log: []programmodel.Member{{Member: "somebody else's", Score: 1}}}, "zset"
	}
	if s.random.IntN(4) > 0 {
		types := slices.Sorted(maps.Keys(otherTypes))
		types = slices.DeleteFunc(types, func(name string) bool { return name == own })
		foreign = image{other: types[s.random.IntN(len(types))]}
	}
	if s.random.IntN(2) == 0 {
		foreign.expiresAt = now + between(s.random, leastLife, 1<<40)
	}
	s.spoil(next, foreign)
}

// randomPolicy draws the arguments of a valid policy, but for the cost.
func randomPolicy(random *rand.Rand, p program) map[string]int64 {
	policy := map[string]int64{"revision": between(random, 1, ratelimit.MaxQuota)}
	quota := "limit"
	switch p.Name {
	case "rate-fixed-window-v1":
		policy["limit"] = between(random, 1, ratelimit.MaxQuota)
		policy["window"] = randomPeriod(random, ratelimit.MaxWindow.Milliseconds())
	case "rate-sliding-counter-v1":
		policy["limit"] = between(random, 1, (1<<53-1)/1_000_000)
		policy["window"] = randomPeriod(random, (1<<53-1)/1_000_000)
	case "rate-sliding-log-v1":
		policy["limit"] = between(random, 1, ratelimit.MaxSlidingLogLimit)
		policy["window"] = randomPeriod(random, ratelimit.MaxWindow.Milliseconds())
	case "rate-token-bucket-v1":
		quota = "capacity"
		interval := randomPeriod(random, ratelimit.MaxWindow.Milliseconds())
		capacity := between(random, 1, min(ratelimit.MaxQuota, (1<<53-1)/interval))
		slowest := 1 + (capacity*interval-1)/ratelimit.MaxWindow.Milliseconds()
		refill := between(random, slowest, ratelimit.MaxQuota)
		divisor := gcd(refill, interval)
		policy["capacity"], policy["refill"], policy["interval"] = capacity, refill/divisor, interval/divisor
	default:
		panic("no policies for " + p.Name)
	}
	policy["maxCost"] = between(random, 1, policy[quota])
	policy["grace"] = between(random, 0, 30*24*3_600_000)
	policy["regression"] = between(random, 0, policy["grace"])
	return policy
}

// mostCapacity is the largest capacity of a bucket with this refill.
func mostCapacity(interval, refill int64) int64 {
	most := min(ratelimit.MaxQuota, (1<<53-1)/interval)
	if high, repaid := bits.Mul64(uint64(refill), uint64(ratelimit.MaxWindow.Milliseconds())); high == 0 && repaid < 1<<53 {
		most = min(most, int64(repaid)/interval)
	}
	return most
}

func randomPeriod(random *rand.Rand, most int64) int64 {
	const second, day = 1000, 24 * 3_600_000
	if random.IntN(2) == 0 {
		const factor = 6361 // of 2^53-1, which such an interval lets a full bucket reach
		common := []int64{1, 2, 3, 10, second, factor, 60 * second, 3600 * second, day, 31 * day, most}
		return common[random.IntN(len(common))]
	}
	return between(random, 1, most)
}

// between draws a number from least to most: of any magnitude, and often at a
// bound or next to it.
func between(random *rand.Rand, least, most int64) int64 {
	span := most - least
	switch random.IntN(8) {
	case 0:
		return least
	case 1:
		return most
	case 2:
		return most - random.Int64N(min(span, 2)+1)
	case 3, 4:
		return least + random.Int64N(min(span, 9)+1)
	}
	magnitude := random.IntN(bits.Len64(uint64(span)) + 1)
	return least + random.Int64N(min(span, 1<<magnitude-1)+1)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

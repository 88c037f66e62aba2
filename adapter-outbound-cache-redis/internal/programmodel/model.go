// Package programmodel says, in Go, what each rate program must do to a key and
// what it must reply: a second implementation to hold the programs against, on
// any server and in any language. The arithmetic of the algorithms is that of
// [ratelimittest.Step]; what is added here is the program's surface: the line of
// its argument, the line of its state, time-to-live and reply.
package programmodel

//go:generate go run ./generate ../../../lua/vectors

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Key is what a server holds under a key. At most one of Hash, SortedSet and Other
// is set; the zero Key is absent.
type Key struct {
	// Hash holds the fields of a hash.
	Hash map[string]string `json:"hash,omitempty"`
	// SortedSet holds the members of a sorted set in the server's order.
	SortedSet []Member `json:"sortedSet,omitempty"`
	// Other is the value of a string, which is no state of any program.
	Other string `json:"string,omitempty"`
	// TTLMillis is the time to live; zero means that the key does not expire.
	TTLMillis int64 `json:"ttlMillis,omitempty"`
}

// exact is the largest integer up to which the programs count exactly.
const exact = 1<<53 - 1

// Run is what program, which is one for one level, does with key and arguments, of
// which there should be one, when the server's clock shows now, in ms since the
// epoch. It returns the reply and the key afterwards. The token bucket's refill and
// interval must be reduced.
func Run(program string, key Key, arguments []string, now int64) (reply.Reply, Key) {
	shape, known := shapes()[program]
	if !known {
		panic("programmodel: no model of " + program)
	}
	if len(arguments) != 1 {
		return undecided(reply.Invalid, now), key
	}
	answers, keys := decide([]level{shape.level(key, arguments[0], now)}, now)
	return answers[0], keys[0]
}

// LayeredProgram is the program for several levels.
const LayeredProgram = "rate-layered-v1"

// RunLayers is what the program for several levels does, as [Run] is for those of
// one level. keys are what the server holds under names. It returns one reply if
// the call is malformed as a whole, otherwise one for each level.
func RunLayers(names []string, keys []Key, arguments []string, now int64) ([]reply.Reply, []Key) {
	if n := len(names); n < 1 || n > ratelimit.MaxLevels || n != len(arguments) || distinct(names) < n {
		return []reply.Reply{undecided(reply.Invalid, now)}, keys
	}
	byLabel := make(map[string]shape)
	for _, shape := range shapes() {
		byLabel[shape.label] = shape
	}
	levels := make([]level, len(names))
	for i, argument := range arguments {
		label, _, _ := strings.Cut(argument, ":")
		levels[i] = level{key: keys[i], undecided: reply.Invalid}
		if shape, known := byLabel[label]; known {
			levels[i] = shape.level(keys[i], argument, now)
		}
	}
	return decide(levels, now)
}

func distinct(names []string) int { return len(slices.Compact(slices.Sorted(slices.Values(names)))) }

// level is what a program has read of a key and of its argument.
type level struct {
	shape     shape
	undecided reply.Status // why nothing can be decided; then only key counts
	key       Key
	identity  string
	policy    ratelimit.Policy
	cost      int64
	stored    record
}

func (s shape) level(key Key, argument string, now int64) level {
	l := level{shape: s, key: key}
	var ok bool
	if l.identity, l.policy, l.cost, ok = s.call(argument); !ok {
		l.undecided = reply.Invalid
	} else if l.stored, ok = s.storage.read(l, now); !ok {
		l.undecided = reply.StateIncompatible
	}
	return l
}

// decide gives the levels' replies, and their keys afterwards: written if all admit.
func decide(levels []level, now int64) ([]reply.Reply, []Key) {
	layers := make([]ratelimittest.Layer, len(levels))
	for i, l := range levels {
		layers[i] = ratelimittest.Layer{Policy: l.policy, State: l.stored.State, Cost: l.cost}
		if l.undecided != "" {
			layers[i] = exhausted(now)
		}
	}
	states, verdicts := ratelimittest.StepLayers(now, layers...)
	denied := slices.ContainsFunc(verdicts, func(v ratelimittest.Verdict) bool { return !v.Allowed })
	answers, keys := make([]reply.Reply, len(levels)), make([]Key, len(levels))
	for i, l := range levels {
		answers[i], keys[i] = l.answer(verdicts[i], now), l.key
		if !denied {
			after := l.stored
			after.State = states[i]
			keys[i] = l.shape.storage.write(l, after, verdicts[i])
		}
	}
	return answers, keys
}

// exhausted stands for a level that cannot be decided: it admits nothing, so that
// nothing is charged at the other levels.
func exhausted(now int64) ratelimittest.Layer {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "exhausted", Revision: 1, Parameters: ratelimit.FixedWindow{Limit: 1, Window: ratelimit.MaxWindow},
		MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	return ratelimittest.Layer{Policy: policy, State: ratelimittest.State{Seen: true, LastObserved: now, Current: 1}, Cost: 1}
}

func undecided(status reply.Status, now int64) reply.Reply {
	return reply.Reply{Status: status, ServerNow: now, EffectiveNow: now}
}

func (l level) answer(verdict ratelimittest.Verdict, now int64) reply.Reply {
	if l.undecided != "" {
		return undecided(l.undecided, now)
	}
	if verdict.ClockUnsafe {
		unsafe := undecided(reply.ClockUnsafe, now)
		unsafe.RetryAfterMillis = verdict.RetryAfter
		return unsafe
	}
	status := reply.Denied
	if verdict.Allowed {
		status = reply.Allowed
	}
	return reply.Reply{
		Status:           status,
		ServerNow:        now,
		EffectiveNow:     verdict.Effective,
		Limit:            l.policy.Quota(),
		Remaining:        verdict.Remaining,
		RetryAfterMillis: verdict.RetryAfter,
		ResetAt:          verdict.ResetAt,
	}
}

// record is a stored state: the model's, until when a token bucket's time-to-live
// is armed, and the total of a log.
type record struct {
	ratelimittest.State
	armed int64
	total int64
}

// shape is what differs between the programs.
type shape struct {
	label string // of the identity
	// identifying is how many numbers of the argument belong to the identity,
	// where they come first; arguments is how many there are.
	identifying, arguments int
	parameters             func(n []int64) ratelimit.Parameters
	storage                storage
}

// storage is how a program keeps its state under a key.
type storage interface {
	// read is the state that the program finds at now, or false if it finds one that
	// it cannot use. It is given a level without its state.
	read(found level, now int64) (record, bool)
	// write is the key once an admission has changed the level's state to after.
	write(admitted level, after record, verdict ratelimittest.Verdict) Key
}

func shapes() map[string]shape {
	window := func(at int64, p ratelimit.Policy) int64 { return at / p.Window().Milliseconds() }
	opened := func(before, after *record, p ratelimit.Policy) bool {
		return !before.Seen || window(before.LastObserved, p) != window(after.LastObserved, p)
	}
	return map[string]shape{
		"rate-fixed-window-v1": {
			label: "fw1", identifying: 2, arguments: 7,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.FixedWindow{Window: millis(n[1]), Limit: n[2]}
			},
			storage: line{
				numbers: func(r *record) []number {
					return []number{{&r.Current, ratelimit.MaxQuota}, {&r.LastObserved, exact}}
				},
				expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
					return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
				},
			},
		},
		"rate-sliding-counter-v1": {
			label: "sc1", identifying: 2, arguments: 7,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.SlidingCounter{Window: millis(n[1]), Limit: n[2]}
			},
			storage: line{
				numbers: func(r *record) []number {
					const most = exact / 1_000_000
					return []number{{&r.Previous, most}, {&r.Current, most}, {&r.LastObserved, exact}}
				},
				expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
					return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
				},
			},
		},
		"rate-sliding-log-v1": {
			label: "sl1", identifying: 2, arguments: 7,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.SlidingLog{Window: millis(n[1]), Limit: n[2]}
			},
			storage: log{},
		},
		"rate-token-bucket-v1": {
			label: "tb1", identifying: 3, arguments: 8,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.TokenBucket{RefillTokens: n[1], RefillInterval: millis(n[2]), Capacity: n[3]}
			},
			storage: line{
				numbers: func(r *record) []number {
					return []number{{&r.Debt, exact}, {&r.LastObserved, exact}, {&r.armed, exact}}
				},
				expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
					grace := p.CleanupGrace().Milliseconds()
					if before.armed >= v.ResetAt+grace && before.armed <= v.ResetAt+2*grace {
						return 0, false
					}
					after.armed = v.ResetAt + 2*grace
					return after.armed, true
				},
			},
		},
	}
}

// parse reads decimal digits up to most.
func parse(text string, most int64) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n <= most
}

// argument writes its numbers as a program takes them.
func (s shape) argument(numbers []string) string {
	identity := strings.Join(append([]string{s.label}, numbers[:s.identifying]...), ":")
	return strings.Join(append([]string{identity}, numbers[s.identifying:]...), " ")
}

// call reads the argument as an identity, a policy and a cost. What the contract
// refuses, the program must refuse too, and the other way round.
func (s shape) call(argument string) (identity string, policy ratelimit.Policy, cost int64, ok bool) {
	identity, rest, _ := strings.Cut(argument, " ")
	identifying := strings.Split(identity, ":")
	if identifying[0] != s.label || len(identifying) != 1+s.identifying {
		return "", ratelimit.Policy{}, 0, false
	}
	texts := slices.Concat(identifying[1:], strings.Split(rest, " "))
	if len(texts) != s.arguments {
		return "", ratelimit.Policy{}, 0, false
	}
	n := make([]int64, len(texts))
	for i, text := range texts {
		if n[i], ok = parse(text, exact); !ok {
			return "", ratelimit.Policy{}, 0, false
		}
	}
	tail := n[len(n)-4:]
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:                 "model",
		Revision:           n[0],
		Parameters:         s.parameters(n),
		MaxCost:            tail[0],
		CleanupGrace:       millis(tail[1]),
		MaxClockRegression: millis(tail[2]),
		FailurePolicy:      ratelimit.FailClosed,
	})
	cost = tail[3]
	return identity, policy, cost, err == nil && cost >= 1 && cost <= policy.MaxCost()
}

// Wire are the replies as the program sends them.
func Wire(replies ...reply.Reply) []any {
	var fields []any
	for _, r := range replies {
		fields = append(fields, string(r.Status), r.ServerNow, r.EffectiveNow, r.Limit, r.Remaining, r.RetryAfterMillis, r.ResetAt)
	}
	return fields
}

// millis saturates, since an argument may be longer than any Duration.
func millis(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

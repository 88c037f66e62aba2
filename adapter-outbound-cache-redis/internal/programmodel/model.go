// Package programmodel says, in Go, what each rate program must do to a key and
// what it must reply: a second implementation to hold the programs against, on
// any server and in any language. The arithmetic of the algorithms is that of
// [ratelimittest.Step]; what is added here is the program's surface: the line of
// its argument, the line of its state, time-to-live and reply.
package programmodel

//go:generate go run ./generate ../../../lua/vectors

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Key is what a server holds under a key. Exactly one of Hash and Other is set;
// the zero Key is absent.
type Key struct {
	// Hash holds the fields of a hash.
	Hash map[string]string `json:"hash,omitempty"`
	// Other is the value of a string, which is no state of any program.
	Other string `json:"string,omitempty"`
	// TTLMillis is the time to live; zero means that the key does not expire.
	TTLMillis int64 `json:"ttlMillis,omitempty"`
}

// exact is the largest integer up to which the programs count exactly.
const exact = 1<<53 - 1

// Run is what program does with key and arguments, of which there should be one,
// when the server's clock shows now, in ms since the epoch. It returns the reply
// and the key afterwards. The token bucket's refill and interval must be reduced.
func Run(program string, key Key, arguments []string, now int64) (reply.Reply, Key) {
	shape, known := shapes()[program]
	if !known {
		panic("programmodel: no model of " + program)
	}
	undecided := func(status reply.Status) reply.Reply {
		return reply.Reply{Status: status, ServerNow: now, EffectiveNow: now}
	}
	identity, policy, cost, ok := shape.call(arguments)
	if !ok {
		return undecided(reply.Invalid), key
	}
	stored, ok := shape.read(key, identity, policy)
	if !ok {
		return undecided(reply.StateIncompatible), key
	}
	next, verdict := ratelimittest.Step(policy, stored.State, now, cost)
	if verdict.ClockUnsafe {
		unsafe := undecided(reply.ClockUnsafe)
		unsafe.RetryAfterMillis = verdict.RetryAfter
		return unsafe, key
	}
	answer := reply.Reply{
		Status:           reply.Denied,
		ServerNow:        now,
		EffectiveNow:     verdict.Effective,
		Limit:            policy.Quota(),
		Remaining:        verdict.Remaining,
		RetryAfterMillis: verdict.RetryAfter,
		ResetAt:          verdict.ResetAt,
	}
	if !verdict.Allowed {
		return answer, key
	}
	answer.Status = reply.Allowed
	return answer, shape.write(key, identity, stored, record{State: next, armed: stored.armed}, policy, verdict)
}

// record is a stored state: the model's, and until when a token bucket's
// time-to-live is armed.
type record struct {
	ratelimittest.State
	armed int64
}

// stateField is the field of the hash that holds the state.
const stateField = "s"

// shape is what differs between the programs.
type shape struct {
	label string // of the identity
	// identifying is how many numbers of the argument belong to the identity,
	// where they come first; arguments is how many there are.
	identifying, arguments int
	parameters             func(n []int64) ratelimit.Parameters
	// numbers are those of the state, in their order after the identity.
	numbers func(*record) []number
	// expiry is the moment until which the state is kept after an admission.
	expiry func(before, after *record, policy ratelimit.Policy, verdict ratelimittest.Verdict) (moment int64, armed bool)
}

// number is a part of the state and its bound.
type number struct {
	value *int64
	most  int64
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
			numbers: func(r *record) []number {
				return []number{{&r.Current, ratelimit.MaxQuota}, {&r.LastObserved, exact}}
			},
			expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
				return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
			},
		},
		"rate-sliding-counter-v1": {
			label: "sc1", identifying: 2, arguments: 7,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.SlidingCounter{Window: millis(n[1]), Limit: n[2]}
			},
			numbers: func(r *record) []number {
				const most = exact / 1_000_000
				return []number{{&r.Previous, most}, {&r.Current, most}, {&r.LastObserved, exact}}
			},
			expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
				return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
			},
		},
		"rate-token-bucket-v1": {
			label: "tb1", identifying: 3, arguments: 8,
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.TokenBucket{RefillTokens: n[1], RefillInterval: millis(n[2]), Capacity: n[3]}
			},
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

// line writes the numbers of an argument as a program takes them.
func (s shape) line(numbers []string) string {
	identity := strings.Join(append([]string{s.label}, numbers[:s.identifying]...), ":")
	return strings.Join(append([]string{identity}, numbers[s.identifying:]...), " ")
}

// call reads the argument as an identity, a policy and a cost. What the contract
// refuses, the program must refuse too, and the other way round.
func (s shape) call(arguments []string) (identity string, policy ratelimit.Policy, cost int64, ok bool) {
	if len(arguments) != 1 {
		return "", ratelimit.Policy{}, 0, false
	}
	identity, rest, _ := strings.Cut(arguments[0], " ")
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

func (s shape) read(key Key, identity string, policy ratelimit.Policy) (record, bool) {
	if key.Other != "" {
		return record{}, false
	}
	state, found := key.Hash[stateField]
	if !found {
		return record{}, len(key.Hash) == 0
	}
	words := strings.Split(state, " ")
	var stored record
	numbers := s.numbers(&stored)
	if words[0] != identity || len(words) != 1+len(numbers) {
		return record{}, false
	}
	for i, number := range numbers {
		value, ok := parse(words[1+i], number.most)
		if !ok {
			return record{}, false
		}
		*number.value = value
	}
	if bucket, ok := policy.Parameters().(ratelimit.TokenBucket); ok && !payable(stored.Debt, bucket.RefillTokens) {
		return record{}, false
	}
	stored.Seen = true
	return stored, true
}

// payable reports whether a debt is one that some bucket with this refill can
// have: repaid within the longest time that any bucket takes to fill.
func payable(debt, refill int64) bool {
	repaid := debt / refill
	if debt%refill > 0 {
		repaid++
	}
	return repaid <= ratelimit.MaxWindow.Milliseconds()
}

func (s shape) write(key Key, identity string, before, after record, policy ratelimit.Policy, verdict ratelimittest.Verdict) Key {
	moment, arms := s.expiry(&before, &after, policy, verdict)
	written := Key{Hash: maps.Clone(key.Hash), TTLMillis: key.TTLMillis}
	if written.Hash == nil {
		written.Hash = make(map[string]string)
	}
	words := []string{identity}
	for _, number := range s.numbers(&after) {
		words = append(words, strconv.FormatInt(*number.value, 10))
	}
	written.Hash[stateField] = strings.Join(words, " ")
	if arms {
		written.TTLMillis = moment - verdict.Now
	}
	return written
}

// Wire is the reply as the program sends it.
func Wire(r reply.Reply) []any {
	return []any{string(r.Status), r.ServerNow, r.EffectiveNow, r.Limit, r.Remaining, r.RetryAfterMillis, r.ResetAt}
}

// millis saturates, since an argument may be longer than any Duration.
func millis(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// Package programmodel says, in Go, what each rate program must do to a key and
// what it must reply: a second implementation to hold the programs against, on
// any server and in any language. The arithmetic of the algorithms is that of
// [ratelimittest.Step]; what is added here is the program's surface: arguments,
// stored fields, time-to-live and reply.
package programmodel

//go:generate go run ./generate ../../../lua/vectors

import (
	"maps"
	"math"
	"regexp"
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

// Run is what program does with key and arguments when the server's clock shows
// now, in ms since the epoch. It returns the reply and the key afterwards. The
// token bucket's refill and interval must be reduced.
func Run(program string, key Key, arguments []string, now int64) (reply.Reply, Key) {
	shape, known := shapes()[program]
	if !known {
		panic("programmodel: no model of " + program)
	}
	undecided := func(status reply.Status) reply.Reply {
		return reply.Reply{Status: status, ServerNow: now, EffectiveNow: now}
	}
	policy, cost, ok := shape.policy(arguments)
	if !ok {
		return undecided(reply.Invalid), key
	}
	identity := shape.identity(arguments)
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

// shape is what differs between the programs.
type shape struct {
	label     string // of the identity
	arguments int
	// identifying are the positions of the arguments that belong to the identity.
	identifying []int
	parameters  func(n []int64) ratelimit.Parameters
	// fields are the stored numbers, in a fixed order.
	fields func(*record) []field
	// expiry is the moment until which the state is kept after an admission.
	expiry func(before, after *record, policy ratelimit.Policy, verdict ratelimittest.Verdict) (moment int64, armed bool)
}

type field struct {
	name  string
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
			label: "fw1", arguments: 7, identifying: []int{0, 2},
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.FixedWindow{Limit: n[1], Window: millis(n[2])}
			},
			fields: func(r *record) []field {
				return []field{{"n", &r.Current, ratelimit.MaxQuota}, {"l", &r.LastObserved, exact}}
			},
			expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
				return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
			},
		},
		"rate-sliding-counter-v1": {
			label: "sc1", arguments: 7, identifying: []int{0, 2},
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.SlidingCounter{Limit: n[1], Window: millis(n[2])}
			},
			fields: func(r *record) []field {
				const most = exact / 1_000_000
				return []field{{"p", &r.Previous, most}, {"c", &r.Current, most}, {"l", &r.LastObserved, exact}}
			},
			expiry: func(before, after *record, p ratelimit.Policy, v ratelimittest.Verdict) (int64, bool) {
				return v.ResetAt + p.CleanupGrace().Milliseconds(), opened(before, after, p)
			},
		},
		"rate-token-bucket-v1": {
			label: "tb1", arguments: 8, identifying: []int{0, 2, 3},
			parameters: func(n []int64) ratelimit.Parameters {
				return ratelimit.TokenBucket{Capacity: n[1], RefillTokens: n[2], RefillInterval: millis(n[3])}
			},
			fields: func(r *record) []field {
				return []field{{"d", &r.Debt, exact}, {"l", &r.LastObserved, exact}, {"a", &r.armed, exact}}
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

var digits = regexp.MustCompile(`^[0-9]+$`)

// number reads decimal digits up to most.
func number(text string, most int64) (int64, bool) {
	if !digits.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n <= most
}

// policy reads arguments as a policy and a cost. What the contract refuses, the
// program must refuse too, and the other way round.
func (s shape) policy(arguments []string) (ratelimit.Policy, int64, bool) {
	if len(arguments) != s.arguments {
		return ratelimit.Policy{}, 0, false
	}
	n := make([]int64, len(arguments))
	for i, argument := range arguments {
		value, ok := number(argument, exact)
		if !ok {
			return ratelimit.Policy{}, 0, false
		}
		n[i] = value
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
	cost := tail[3]
	return policy, cost, err == nil && cost >= 1 && cost <= policy.MaxCost()
}

func (s shape) identity(arguments []string) string {
	parts := []string{s.label}
	for _, position := range s.identifying {
		parts = append(parts, arguments[position])
	}
	return strings.Join(parts, ":")
}

func (s shape) read(key Key, identity string, policy ratelimit.Policy) (record, bool) {
	if key.Other != "" {
		return record{}, false
	}
	if len(key.Hash) == 0 {
		return record{}, true
	}
	if key.Hash["id"] != identity {
		return record{}, false
	}
	var stored record
	for _, f := range s.fields(&stored) {
		value, ok := number(key.Hash[f.name], f.most)
		if !ok {
			return record{}, false
		}
		*f.value = value
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
	written.Hash["id"] = identity
	for _, f := range s.fields(&after) {
		written.Hash[f.name] = strconv.FormatInt(*f.value, 10)
	}
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

package programmodel

import (
	"maps"
	"strconv"
	"strings"

	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// stateField is the field of the hash that holds the line of the state.
const stateField = "s"

// line is a state in one field of a hash: its identity and its numbers.
type line struct {
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

func (l line) read(found level, _ int64) (record, bool) {
	if found.key.Other != "" || len(found.key.SortedSet) > 0 {
		return record{}, false
	}
	state, stated := found.key.Hash[stateField]
	if !stated {
		return record{}, len(found.key.Hash) == 0
	}
	words := strings.Split(state, " ")
	var stored record
	numbers := l.numbers(&stored)
	if words[0] != found.identity || len(words) != 1+len(numbers) {
		return record{}, false
	}
	for i, number := range numbers {
		value, ok := parse(words[1+i], number.most)
		if !ok {
			return record{}, false
		}
		*number.value = value
	}
	if bucket, ok := found.policy.Parameters().(ratelimit.TokenBucket); ok && !payable(stored.Debt, bucket.RefillTokens) {
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

func (l line) write(admitted level, after record, verdict ratelimittest.Verdict) Key {
	moment, arms := l.expiry(&admitted.stored, &after, admitted.policy, verdict)
	written := Key{Hash: maps.Clone(admitted.key.Hash), TTLMillis: admitted.key.TTLMillis}
	if written.Hash == nil {
		written.Hash = make(map[string]string)
	}
	words := []string{admitted.identity}
	for _, number := range l.numbers(&after) {
		words = append(words, strconv.FormatInt(*number.value, 10))
	}
	written.Hash[stateField] = strings.Join(words, " ")
	if arms {
		written.TTLMillis = moment - verdict.Now
	}
	return written
}

package programmodel_test

import (
	"slices"

	"example.com/weir/lua"
)

// plantedFault is a fault in a program: a text of it, and what stands there
// instead.
type plantedFault struct{ name, text, instead string }

// plantedFaults are faults of each kind that the comparison must find.
func plantedFaults() map[string][]plantedFault {
	return map[string][]plantedFault{
		lua.FixedWindow().Name: slices.Concat(commonFaults, []plantedFault{
			{"the limit is never reached", "spent > limit - cost", "spent >= limit - cost"},
			{"usage is not written", "spent = spent + cost", "spent = spent + 0"},
			{"one more than the limit", "spent > limit - cost", "spent > limit - cost + 1"},
			{"the last admission at a border counts to the window before", "last >= finish - window", "last > finish - window"},
			{"a window goes on for ever", "effective % window", "effective % (window * 2)"},
			{"negative remaining", "spent < limit and limit - spent or 0", "limit - spent"},
			{"retry is counted from the clamped clock", "finish - now, finish}", "finish - effective, finish}"},
			{"expiry a millisecond early", "finish + grace - now)", "finish + grace - now - 1)"},
			{"expiry without the grace", "finish + grace - now)", "finish - now)"},
			{"no expiry", "redis.call('PEXPIRE', key, finish + grace - now)", ""},
			{"largest count refused", "spent > 999999999999999", "spent >= 999999999999999"},
		}),
		lua.SlidingCounter().Name: slices.Concat(commonFaults, []plantedFault{
			{"the limit is never reached", "estimate > limit - cost", "estimate >= limit - cost"},
			{"usage is not written", "current = current + cost", "current = current + 0"},
			{"the carried share is rounded down", "current + ceil(previous * weight / SCALE)", "current + floor(previous * weight / SCALE)"},
			{"the weight is rounded down", "ceil((finish - effective) * SCALE / window)", "floor((finish - effective) * SCALE / window)"},
			{"the last admission at a border counts to the window before", "last >= finish - window", "last > finish - window"},
			{"the window before is forgotten at a border", "last >= finish - 2 * window", "last > finish - 2 * window"},
			{"retry without regard to rounding", "floor(floor(free * SCALE / previous) * window / SCALE)", "floor(free * window / previous)"},
			{"retry a window early", "at = finish + window - ", "at = finish - "},
			{"reset a window early", "current > 0 and finish + window or finish", "finish"},
			{"expiry a window early", "finish + window + grace - now)", "finish + grace - now)"},
		}),
		lua.TokenBucket().Name: slices.Concat(commonFaults, []plantedFault{
			{"the last token is never given", "debt > bearable", "debt >= bearable"},
			{"usage is not written", "debt = debt + cost * interval", "debt = debt + 0"},
			{"a millisecond repays nothing", "elapsed * refill", "math.max(0, elapsed - 1) * refill"},
			{"debt below nothing", "elapsed < debt / refill", "elapsed < debt / refill + 1"},
			{"remaining is rounded up", "floor((full - debt) / interval), 0, reset}", "ceil((full - debt) / interval), 0, reset}"},
			{"negative remaining", "debt < full and floor((full - debt) / interval) or 0", "floor((full - debt) / interval)"},
			{"retry is rounded down", "effective + ceil((debt - bearable) / refill)", "effective + floor((debt - bearable) / refill)"},
			{"expiry is not armed at one grace", "armed < reset + grace", "armed <= reset + grace"},
			{"expiry is armed again at two graces", "armed > reset + 2 * grace", "armed >= reset + 2 * grace"},
			{"expiry is counted from the clamped clock", "armed - now)", "armed - effective)"},
			{"a debt that no bucket can have", "debt / refill > 316224000000", "false"},
		}),
	}
}

// commonFaults can be planted in every program.
var commonFaults = []plantedFault{
	{"another clock", "time[1] * 1000", "time[1] * 1000 + 60000"},
	{"a clock in whole seconds", "time[2] / 1000", "0"},
	{"the clock is not clamped", "effective = last", "effective = now"},
	{"the bound of the regression is beyond it", "last - now > regression", "last - now >= regression"},
	{"the clock is never unsafe", "last - now > regression", "false"},
	{"the retry of an unsafe clock is a millisecond short", "last - regression - now", "last - regression - now - 1"},
	{"an unsafe clock writes", "return {'CLOCK_UNSAFE'", "redis.call('HSET', key, 's', id .. ' 0 0 0') return {'CLOCK_UNSAFE'"},
	{"a denial writes", "return {'DENIED'", "redis.call('HSET', key, 's', id .. ' 0 0 0') return {'DENIED'"},
	{"a denial prolongs the key", "return {'DENIED'", "redis.call('PEXPIRE', key, 99999999) return {'DENIED'"},
	{"an admission prolongs the key", "return {'ALLOWED'", "redis.call('PEXPIRE', key, 99999999) return {'ALLOWED'"},
	{"an admission writes another field", "return {'ALLOWED'", "redis.call('HSET', key, 'surplus', 2) return {'ALLOWED'"},
	{"a denial forgets the key", "return {'DENIED'", "redis.call('DEL', key) return {'DENIED'"},
	{"a status of another spelling", "{'ALLOWED'", "{'allowed'"},
	{"a reply with text for a number", "{'ALLOWED', now", "{'ALLOWED', string.format('%.0f', now)"},
	{"a grace above the longest", "grace > 2592000000", "grace > 2592000001"},
	{"a regression bound above the grace", "regression > grace", "regression > grace + 1"},
	{"a cost above the most", "cost > max_cost", "cost > max_cost + 1"},
	{"a cost of nothing", "or cost < 1", "or cost < 0"},
	{"several keys", "#KEYS == 1", "#KEYS >= 1"},
	{"a number of the argument in another form", "(%d+)$')\nif", "(%S+)$')\nif"},
	{"a number of the state in another form", "(%d+)$')\n  if", "(%S+)$')\n  if"},
	{"more after the argument", "(%d+)$')\nif", "(%d+)')\nif"},
	{"more after the state", "(%d+)$')\n  if", "(%d+)')\n  if"},
	{"several arguments", "#ARGV == 1", "#ARGV >= 1"},
	{"another's state", "known ~= id", "false"},
	{"a key of another type raises", "redis.pcall('HGET'", "redis.call('HGET'"},
	{"a foreign hash is taken over", "redis.call('EXISTS', key) == 1", "false"},
	{"a moment beyond exact integers", "last > EXACT", "last > EXACT + 1"},
}

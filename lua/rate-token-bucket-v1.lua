#!lua
-- Token bucket: a bucket holds up to `capacity` tokens, starts full and gains
-- `refill` tokens each `interval` ms, evenly.
--
-- The state is not the tokens but the debt, what is missing from full, counted
-- in 1/interval tokens: each ms repays exactly `refill` of these units, so no
-- refill is ever rounded. The caller reduces refill and interval by their
-- greatest common divisor.
--
-- Argument, one line:
--   tb1:<revision>:<refill>:<interval> <capacity> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   tb1:<revision>:<refill>:<interval> <debt> <last> <armed>
--     debt   debt at last
--     last   time of the last admission
--     armed  until when the time-to-live is armed
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
-- Of a rounded n / d they are exact: while n is an integer up to EXACT, and d one,
-- rounding never takes a quotient onto or across an integer.
local floor, ceil = math.floor, math.ceil

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
local id, revision, refill, interval, capacity, max_cost, grace, regression, cost =
  line:match('^(tb1:(%d+):(%d+):(%d+)) (%d+) (%d+) (%d+) (%d+) (%d+)$')
if not id then
  return {'INVALID', now, now, 0, 0, 0, 0}
end
-- digits + 0 is a number, for half of what tonumber costs
revision, refill, interval, capacity = revision + 0, refill + 0, interval + 0, capacity + 0
max_cost, grace, regression, cost = max_cost + 0, grace + 0, regression + 0, cost + 0
local full = capacity * interval
if revision < 1 or revision > 999999999999999
    or refill < 1 or refill > 999999999999999
    or interval < 1 or interval > 316224000000
    or capacity < 1 or capacity > 999999999999999
    or full > EXACT or full / refill > 316224000000
    or max_cost < 1 or max_cost > capacity
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return {'INVALID', now, now, 0, 0, 0, 0}
end

-- State
local state = redis.pcall('HGET', key, 's')
local debt, last, armed = 0, 0, 0
-- A state that is there is what `else` goes on with.
if not state then
  if redis.call('EXISTS', key) == 1 then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
elseif state.err then
  if not state.err:find('^WRONGTYPE') then
    return state
  end
  return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
else
  debt, last, armed = state:match('^ (%d+) (%d+) (%d+)$', #id + 1)
  if not last or state:sub(1, #id) ~= id then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
  debt, last, armed = debt + 0, last + 0, armed + 0
  if debt > EXACT or debt / refill > 316224000000 or last > EXACT or armed > EXACT then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
end

-- Clock
local effective = now
if last > now then
  if last - now > regression then
    return {'CLOCK_UNSAFE', now, now, 0, 0, last - regression - now, 0}
  end
  effective = last
end

-- Decision
local elapsed = effective - last
if elapsed < debt / refill then
  debt = debt - elapsed * refill
else
  debt = 0
end
local bearable = full - cost * interval
if debt > bearable then
  local left = debt < full and floor((full - debt) / interval) or 0
  local at = effective + ceil((debt - bearable) / refill)
  return {'DENIED', now, effective, capacity, left, at - now, effective + ceil(debt / refill)}
end

-- Charge
debt = debt + cost * interval
local limit, left = capacity, floor((full - debt) / interval)
local reset = effective + ceil(debt / refill)
local stale = armed < reset + grace or armed > reset + 2 * grace
if stale then
  armed = reset + 2 * grace
end
local state = id .. (' %d %d %d'):format(debt, effective, armed)
local expiry = stale and armed - now

-- Writes: nothing below may raise
redis.call('HSET', key, 's', state)
if expiry then
  redis.call('PEXPIRE', key, expiry)
end
return {'ALLOWED', now, effective, limit, left, 0, reset}

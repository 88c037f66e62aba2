#!lua
-- Sliding-window counter: the units of the current window plus the share of the
-- previous window that the sliding one still covers, rounded up, stay within
-- `limit`. Windows are aligned to the epoch; shares are counted in millionths.
--
-- Argument, one line:
--   sc1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   sc1:<revision>:<window> <previous> <current> <last>
--     previous  units spent in the window before that of last
--     current   units spent in the window of last
--     last      time of the last admission
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
local SCALE = 1000000
local COUNT = 9007199254 -- EXACT / SCALE: counts and windows up to here can be scaled
-- Of a rounded n / d they are exact: while n is an integer up to EXACT, and d one,
-- rounding never takes a quotient onto or across an integer.
local floor, ceil = math.floor, math.ceil

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
local id, revision, window, limit, max_cost, grace, regression, cost =
  line:match('^(sc1:(%d+):(%d+)) (%d+) (%d+) (%d+) (%d+) (%d+)$')
if not id then
  return {'INVALID', now, now, 0, 0, 0, 0}
end
-- digits + 0 is a number, for half of what tonumber costs
revision, window, limit, max_cost = revision + 0, window + 0, limit + 0, max_cost + 0
grace, regression, cost = grace + 0, regression + 0, cost + 0
if revision < 1 or revision > 999999999999999
    or window < 1 or window > COUNT
    or limit < 1 or limit > COUNT
    or max_cost < 1 or max_cost > limit
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return {'INVALID', now, now, 0, 0, 0, 0}
end

-- State
local state = redis.pcall('HGET', key, 's')
local previous, current, last = 0, 0, 0
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
  previous, current, last = state:match('^ (%d+) (%d+) (%d+)$', #id + 1)
  if not last or state:sub(1, #id) ~= id then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
  previous, current, last = previous + 0, current + 0, last + 0
  if previous > COUNT or current > COUNT or last > EXACT then
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
local finish = effective - effective % window + window
local running = state and last >= finish - window
if not running then
  previous = last >= finish - 2 * window and current or 0
  current = 0
end
local weight = ceil((finish - effective) * SCALE / window)
local estimate = current + ceil(previous * weight / SCALE)
if estimate > limit - cost then
  local at
  local free = limit - current - cost
  if free >= 0 then -- once enough of the previous window has slid out
    at = finish - floor(floor(free * SCALE / previous) * window / SCALE)
  else -- once enough of this window, by then the previous one, has slid out
    local share = math.min(SCALE, floor((limit - cost) * SCALE / current))
    at = finish + window - floor(share * window / SCALE)
  end
  local left = estimate < limit and limit - estimate or 0
  local reset = current > 0 and finish + window or finish
  return {'DENIED', now, effective, limit, left, at - now, reset}
end

-- Charge
current = current + cost
local state = id .. (' %d %d %d'):format(previous, current, effective)
local expiry = not running and finish + window + grace - now
local left, reset = limit - estimate - cost, finish + window

-- Writes: nothing below may raise
redis.call('HSET', key, 's', state)
if expiry then
  redis.call('PEXPIRE', key, expiry)
end
return {'ALLOWED', now, effective, limit, left, 0, reset}

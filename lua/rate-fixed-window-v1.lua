#!lua
-- Fixed window: each window, aligned to the epoch, admits up to `limit` units.
--
-- Argument, one line:
--   fw1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   fw1:<revision>:<window> <spent> <last>
--     spent  units spent in the window of last
--     last   time of the last admission
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
local id, revision, window, limit, max_cost, grace, regression, cost =
  line:match('^(fw1:(%d+):(%d+)) (%d+) (%d+) (%d+) (%d+) (%d+)$')
if not id then
  return {'INVALID', now, now, 0, 0, 0, 0}
end
-- digits + 0 is a number, for half of what tonumber costs
revision, window, limit, max_cost = revision + 0, window + 0, limit + 0, max_cost + 0
grace, regression, cost = grace + 0, regression + 0, cost + 0
if revision < 1 or revision > 999999999999999
    or window < 1 or window > 316224000000
    or limit < 1 or limit > 999999999999999
    or max_cost < 1 or max_cost > limit
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return {'INVALID', now, now, 0, 0, 0, 0}
end

-- State
local state = redis.pcall('HGET', key, 's')
local spent, last = 0, 0
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
  spent, last = state:match('^ (%d+) (%d+)$', #id + 1)
  if not last or state:sub(1, #id) ~= id then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
  spent, last = spent + 0, last + 0
  if spent > 999999999999999 or last > EXACT then
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
  spent = 0
end
if spent > limit - cost then
  local left = spent < limit and limit - spent or 0
  return {'DENIED', now, effective, limit, left, finish - now, finish}
end

-- Charge
spent = spent + cost
local state = id .. (' %d %d'):format(spent, effective)
local expiry = not running and finish + grace - now
local left, reset = limit - spent, finish

-- Writes: nothing below may raise
redis.call('HSET', key, 's', state)
if expiry then
  redis.call('PEXPIRE', key, expiry)
end
return {'ALLOWED', now, effective, limit, left, 0, reset}

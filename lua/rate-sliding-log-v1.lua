#!lua
-- Sliding log: the units of any `window` stay within `limit`. It is exact, since it
-- remembers each admission until it has left the window.
--
-- Argument, one line:
--   sl1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, a sorted set:
--   sl1:<revision>:<window>  whose state it is; its score is 0
--   <total>:<units>          an admission; its score is when
--     total  10^15 and the units spent since the log was empty, these included
--     units  units of this admission
-- Times and durations are in ms. Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
local EMPTY = 1000000000000000 -- the total of an empty log: all have as many digits, to sort by
local floor = math.floor

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
local id, revision, window, limit, max_cost, grace, regression, cost =
  line:match('^(sl1:(%d+):(%d+)) (%d+) (%d+) (%d+) (%d+) (%d+)$')
if not id then
  return {'INVALID', now, now, 0, 0, 0, 0}
end
-- digits + 0 is a number, for half of what tonumber costs
revision, window, limit, max_cost = revision + 0, window + 0, limit + 0, max_cost + 0
grace, regression, cost = grace + 0, regression + 0, cost + 0
if revision < 1 or revision > 999999999999999
    or window < 1 or window > 316224000000
    or limit < 1 or limit > 10000
    or max_cost < 1 or max_cost > limit
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return {'INVALID', now, now, 0, 0, 0, 0}
end

-- State
-- admission reads a member and its score: total, time and units, or nothing.
local function admission(found)
  local total, units = (found[1] or ''):match('^(1%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d):(%d+)$')
  local at = total and found[2]:match('^%d+$')
  if not at then
    return nil
  end
  total, units, at = total + 0, units + 0, at + 0
  if units < 1 or units > total - EMPTY or at < 1 or at > EXACT then
    return nil
  end
  return total, at, units
end

local state = redis.pcall('ZSCORE', key, id)
local total, last = EMPTY, 0
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
  total, last = admission(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES'))
  if not total or state ~= '0' then
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
local opened = math.max(0, effective - window) -- what was admitted up to then has left
local used, units, oldest = 0, 0, 0
if last > opened then
  local reached
  reached, oldest, units = admission(redis.call(
    'ZRANGE', key, ('(%d'):format(opened), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
  used = reached and total - reached + units or 0
  if used < 1 then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
end
if used > limit - cost then
  local excess = used + cost - limit -- so much must leave, the oldest first
  if units < excess then
    -- The oldest admission with which enough will have left, by its rank from the
    -- newest: at most limit - cost come after it, since each has a unit at least.
    oldest = last
    local low, high = 1, limit - cost + 1
    while low < high do
      local middle = floor((low + high + 1) / 2)
      local reached, at = admission(redis.call('ZRANGE', key, -middle, -middle, 'WITHSCORES'))
      if reached and at > opened and reached - (total - used) >= excess then
        low, oldest = middle, at
      else
        high = middle - 1
      end
    end
  end
  local left = used < limit and limit - used or 0
  return {'DENIED', now, effective, limit, left, oldest + window - now, last + window}
end

-- Charge
total = (used > 0 and total or EMPTY) + cost
local state = ('%d:%d'):format(total, cost)
local expiry = effective + window + grace - now
local left, reset = limit - used - cost, effective + window

-- Writes: nothing below may raise
redis.call('ZREMRANGEBYSCORE', key, '(0', opened)
redis.call('ZADD', key, 0, id, effective, state)
redis.call('PEXPIRE', key, expiry)
return {'ALLOWED', now, effective, limit, left, 0, reset}

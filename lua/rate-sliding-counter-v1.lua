#!lua
-- Sliding-window counter: the units of the current window plus the share of the
-- previous window that the sliding one still covers, rounded up, stay within
-- `limit`. Windows are aligned to the epoch; shares are counted in millionths.
--
-- State, one hash:
--   id  whose state this is: sc1:<revision>:<window>
--   p   units spent in the window before that of l
--   c   units spent in the window of l
--   l   time of the last admission
-- Times and durations are in ms. Arguments, bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
local SCALE = 1000000
local COUNT = 9007199254 -- EXACT / SCALE: counts and windows up to here can be scaled

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function undecided(status, retry)
  return {status, now, now, 0, 0, retry or 0, 0}
end

local function ceil_div(n, d)
  local q = math.floor(n / d)
  return q * d < n and q + 1 or q
end

-- Arguments
if #KEYS ~= 1 or #ARGV ~= 7
    or not string.find(table.concat(ARGV, ' '), '^%d+ %d+ %d+ %d+ %d+ %d+ %d+$') then
  return undecided('INVALID')
end
local key, revision = KEYS[1], tonumber(ARGV[1])
local limit, window = tonumber(ARGV[2]), tonumber(ARGV[3])
local max_cost, grace = tonumber(ARGV[4]), tonumber(ARGV[5])
local regression, cost = tonumber(ARGV[6]), tonumber(ARGV[7])
if revision < 1 or revision > 999999999999999
    or limit < 1 or limit > COUNT
    or window < 1 or window > COUNT
    or max_cost < 1 or max_cost > limit
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return undecided('INVALID')
end

-- State
local id = 'sc1:' .. ARGV[1] .. ':' .. ARGV[3]
local state = redis.pcall('HMGET', key, 'id', 'p', 'c', 'l')
if state.err then
  if string.find(state.err, '^WRONGTYPE') then
    return undecided('STATE_INCOMPATIBLE')
  end
  return state
end
local known, previous, current, last = state[1], state[2], state[3], state[4]
if known then
  if known ~= id or not previous or not current or not last
      or not string.find(previous .. ' ' .. current .. ' ' .. last, '^%d+ %d+ %d+$') then
    return undecided('STATE_INCOMPATIBLE')
  end
  previous, current, last = tonumber(previous), tonumber(current), tonumber(last)
  if previous > COUNT or current > COUNT or last > EXACT then
    return undecided('STATE_INCOMPATIBLE')
  end
elseif previous or current or last or redis.call('EXISTS', key) == 1 then
  return undecided('STATE_INCOMPATIBLE')
else
  previous, current, last = 0, 0, 0
end

-- Clock
local effective = now
if last > now then
  if last - now > regression then
    return undecided('CLOCK_UNSAFE', last - regression - now)
  end
  effective = last
end

-- Decision
local finish = effective - effective % window + window
local running = known and last >= finish - window
if not running then
  previous = last >= finish - 2 * window and current or 0
  current = 0
end
local weight = ceil_div((finish - effective) * SCALE, window)
local estimate = current + ceil_div(previous * weight, SCALE)
if estimate > limit - cost then
  local at
  local free = limit - current - cost
  if free >= 0 then -- once enough of the previous window has slid out
    at = finish - math.floor(math.floor(free * SCALE / previous) * window / SCALE)
  else -- once enough of this window, by then the previous one, has slid out
    local share = math.min(SCALE, math.floor((limit - cost) * SCALE / current))
    at = finish + window - math.floor(share * window / SCALE)
  end
  local reset = current > 0 and finish + window or finish
  return {'DENIED', now, effective, limit, math.max(0, limit - estimate), at - now, reset}
end
current = current + cost

-- Writes: nothing below may raise
if running then
  redis.call('HSET', key, 'c', current, 'l', effective)
else
  redis.call('HSET', key, 'id', id, 'p', previous, 'c', current, 'l', effective)
  redis.call('PEXPIRE', key, finish + window + grace - now)
end
return {'ALLOWED', now, effective, limit, limit - estimate - cost, 0, finish + window}

#!lua
-- Fixed window: each window, aligned to the epoch, admits up to `limit` units.
--
-- State, one hash:
--   id  whose state this is: fw1:<revision>:<window>
--   n   units spent in the window of l
--   l   time of the last admission
-- Times and durations are in ms. Arguments, bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function undecided(status, retry)
  return {status, now, now, 0, 0, retry or 0, 0}
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
    or limit < 1 or limit > 999999999999999
    or window < 1 or window > 316224000000
    or max_cost < 1 or max_cost > limit
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return undecided('INVALID')
end

-- State
local id = 'fw1:' .. ARGV[1] .. ':' .. ARGV[3]
local state = redis.pcall('HMGET', key, 'id', 'n', 'l')
if state.err then
  if string.find(state.err, '^WRONGTYPE') then
    return undecided('STATE_INCOMPATIBLE')
  end
  return state
end
local known, spent, last = state[1], state[2], state[3]
if known then
  if known ~= id or not spent or not last
      or not string.find(spent .. ' ' .. last, '^%d+ %d+$') then
    return undecided('STATE_INCOMPATIBLE')
  end
  spent, last = tonumber(spent), tonumber(last)
  if spent > 999999999999999 or last > EXACT then
    return undecided('STATE_INCOMPATIBLE')
  end
elseif spent or last or redis.call('EXISTS', key) == 1 then
  return undecided('STATE_INCOMPATIBLE')
else
  spent, last = 0, 0
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
  spent = 0
end
if spent > limit - cost then
  return {'DENIED', now, effective, limit, math.max(0, limit - spent), finish - now, finish}
end
spent = spent + cost

-- Writes: nothing below may raise
if running then
  redis.call('HSET', key, 'n', spent, 'l', effective)
else
  redis.call('HSET', key, 'id', id, 'n', spent, 'l', effective)
  redis.call('PEXPIRE', key, finish + grace - now)
end
return {'ALLOWED', now, effective, limit, limit - spent, 0, finish}

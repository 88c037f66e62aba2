#!lua
-- Token bucket: a bucket holds up to `capacity` tokens, starts full and gains
-- `refill` tokens each `interval` ms, evenly.
--
-- The state is not the tokens but the debt, what is missing from full, counted
-- in 1/interval tokens: each ms repays exactly `refill` of these units, so no
-- refill is ever rounded. The caller reduces refill and interval by their
-- greatest common divisor.
--
-- State, one hash:
--   id  whose state this is: tb1:<revision>:<refill>:<interval>
--   d   debt at l
--   l   time of the last admission
--   a   until when the time-to-live is armed
-- Times and durations are in ms. Arguments, bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact

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
if #KEYS ~= 1 or #ARGV ~= 8
    or not string.find(table.concat(ARGV, ' '), '^%d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+$') then
  return undecided('INVALID')
end
local key, revision, capacity = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local refill, interval = tonumber(ARGV[3]), tonumber(ARGV[4])
local max_cost, grace = tonumber(ARGV[5]), tonumber(ARGV[6])
local regression, cost = tonumber(ARGV[7]), tonumber(ARGV[8])
if revision < 1 or revision > 999999999999999
    or capacity < 1 or capacity > 999999999999999
    or refill < 1 or refill > 999999999999999
    or interval < 1 or interval > 316224000000
    or capacity > EXACT / interval
    or ceil_div(capacity * interval, refill) > 316224000000
    or max_cost < 1 or max_cost > capacity
    or grace > 2592000000 or regression > grace
    or cost < 1 or cost > max_cost then
  return undecided('INVALID')
end

-- State
local id = 'tb1:' .. ARGV[1] .. ':' .. ARGV[3] .. ':' .. ARGV[4]
local state = redis.pcall('HMGET', key, 'id', 'd', 'l', 'a')
if state.err then
  if string.find(state.err, '^WRONGTYPE') then
    return undecided('STATE_INCOMPATIBLE')
  end
  return state
end
local known, debt, last, armed = state[1], state[2], state[3], state[4]
if known then
  if known ~= id or not debt or not last or not armed
      or not string.find(debt .. ' ' .. last .. ' ' .. armed, '^%d+ %d+ %d+$') then
    return undecided('STATE_INCOMPATIBLE')
  end
  debt, last, armed = tonumber(debt), tonumber(last), tonumber(armed)
  if ceil_div(debt, refill) > 316224000000 or debt > EXACT or last > EXACT or armed > EXACT then
    return undecided('STATE_INCOMPATIBLE')
  end
elseif debt or last or armed or redis.call('EXISTS', key) == 1 then
  return undecided('STATE_INCOMPATIBLE')
else
  debt, last, armed = 0, 0, 0
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
local elapsed = effective - last
if elapsed >= ceil_div(debt, refill) then
  debt = 0
else
  debt = debt - elapsed * refill
end
local full = capacity * interval
local bearable = full - cost * interval
if debt > bearable then
  local available = math.max(0, math.floor((full - debt) / interval))
  local at = effective + ceil_div(debt - bearable, refill)
  return {'DENIED', now, effective, capacity, available, at - now, effective + ceil_div(debt, refill)}
end
debt = debt + cost * interval
local reset = effective + ceil_div(debt, refill)

-- Writes: nothing below may raise
if armed < reset + grace or armed > reset + 2 * grace then
  armed = reset + 2 * grace
  redis.call('HSET', key, 'id', id, 'd', debt, 'l', effective, 'a', armed)
  redis.call('PEXPIRE', key, armed - now)
else
  redis.call('HSET', key, 'd', debt, 'l', effective)
end
return {'ALLOWED', now, effective, capacity, math.floor((full - debt) / interval), 0, reset}

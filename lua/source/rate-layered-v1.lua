#!lua
-- Several levels at once, of any algorithms: all are charged, or none.
--
-- Keys: one for each level. Arguments: one line for each level, in the same order,
-- with the form of the program for one level; its first word names the algorithm.
-- State: as with those programs, so that both can share it.
--
-- The reply is that of each level, in the same order and one after another, as the
-- program for one level gives it. Everything was charged if all are ALLOWED. If not,
-- nothing was, and a level that is ALLOWED tells what is left without this call.
-- Bounds and reply: manifest.json.

-- Those of a rounded n / d are exact: while n is an integer below 2^53, and d one,
-- rounding never takes a quotient onto or across an integer.
local floor, ceil = math.floor, math.ceil

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- level reads and decides one level. It returns the reply of one that refuses or
-- cannot be decided. For one that admits it returns nil and then: the clock that
-- decided, the limit, what is left and the reset with this call and without, what
-- is to be written, when it expires or false, and for a log what has left it.
-- It has all that it needs as a local of its own, which is cheaper than another's.
local function level(now, key, line, floor, ceil)
  local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
  local SCALE = 1000000
  local COUNT = 9007199254 -- EXACT / SCALE: counts and windows up to here can be scaled
  local EMPTY = 1000000000000000 -- the total of an empty log: all have as many digits, to sort by

  local algorithm = line:sub(1, 3)
  if algorithm == 'fw1' then
    -- include fixed-window-check
    local left_before, reset_before = limit - spent, finish
    -- include fixed-window-charge
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'sc1' then
    -- include sliding-counter-check
    local left_before = limit - estimate
    local reset_before = current > 0 and finish + window or previous > 0 and finish or effective
    -- include sliding-counter-charge
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'tb1' then
    -- include token-bucket-check
    local left_before, reset_before = floor((full - debt) / interval), effective + ceil(debt / refill)
    -- include token-bucket-charge
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'sl1' then
    -- include sliding-log-check
    local left_before, reset_before = limit - used, used > 0 and last + window or effective
    -- include sliding-log-charge
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry, opened
  end
  return {'INVALID', now, now, 0, 0, 0, 0}
end

local keys, lines = KEYS, ARGV
local levels = #keys
local valid = levels >= 1 and levels <= 8 and levels == #lines
for i = 2, levels do
  for j = 1, i - 1 do
    if keys[i] == keys[j] then
      valid = false
    end
  end
end
if not valid then
  return {'INVALID', now, now, 0, 0, 0, 0}
end

-- Room for two levels at once is cheaper than to grow. A reply ends at its first nil.
-- Below, to assign one value at a time is cheaper than several.
local replies = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
local pending = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
local refused = false
for i = 1, levels do
  local refusal, effective, limit, left, reset, left_before, reset_before, state, expiry, opened = level(now, keys[i], lines[i], floor, ceil)
  local r, p = 7 * i, 5 * i
  if refusal then
    if refusal.err then
      return refusal
    end
    refused = true
    for field = 1, 7 do
      replies[r - 7 + field] = refusal[field]
    end
  else
    replies[r - 6] = 'ALLOWED'
    replies[r - 5] = now
    replies[r - 4] = effective
    replies[r - 3] = limit
    replies[r - 2] = left
    replies[r - 1] = 0
    replies[r] = reset
    pending[p - 4] = left_before
    pending[p - 3] = reset_before
    pending[p - 2] = state
    pending[p - 1] = expiry
    pending[p] = opened
  end
end

if refused then
  for i = 1, levels do
    if replies[7 * i - 6] == 'ALLOWED' then
      replies[7 * i - 2], replies[7 * i] = pending[5 * i - 4], pending[5 * i - 3]
    end
  end
  return replies
end

-- Writes: nothing below may raise
for i = 1, levels do
  local key, p = keys[i], 5 * i
  local state, expiry, opened = pending[p - 2], pending[p - 1], pending[p]
  if opened then
    local id, effective = lines[i]:match('^%S+'), replies[7 * i - 4]
    -- include log-write
  else
    -- include hash-write
  end
end
return replies

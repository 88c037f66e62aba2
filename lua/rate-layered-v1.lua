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
    local left_before, reset_before = limit - spent, finish
    spent = spent + cost
    local state = id .. (' %d %d'):format(spent, effective)
    local expiry = not running and finish + grace - now
    local left, reset = limit - spent, finish
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'sc1' then
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
    local left_before = limit - estimate
    local reset_before = current > 0 and finish + window or previous > 0 and finish or effective
    current = current + cost
    local state = id .. (' %d %d %d'):format(previous, current, effective)
    local expiry = not running and finish + window + grace - now
    local left, reset = limit - estimate - cost, finish + window
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'tb1' then
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
    local left_before, reset_before = floor((full - debt) / interval), effective + ceil(debt / refill)
    debt = debt + cost * interval
    local limit, left = capacity, floor((full - debt) / interval)
    local reset = effective + ceil(debt / refill)
    local stale = armed < reset + grace or armed > reset + 2 * grace
    if stale then
      armed = reset + 2 * grace
    end
    local state = id .. (' %d %d %d'):format(debt, effective, armed)
    local expiry = stale and armed - now
    return nil, effective, limit, left, reset, left_before, reset_before, state, expiry
  elseif algorithm == 'sl1' then
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
    local left_before, reset_before = limit - used, used > 0 and last + window or effective
    total = (used > 0 and total or EMPTY) + cost
    local state = ('%d:%d'):format(total, cost)
    local expiry = effective + window + grace - now
    local left, reset = limit - used - cost, effective + window
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
    redis.call('ZREMRANGEBYSCORE', key, '(0', opened)
    redis.call('ZADD', key, 0, id, effective, state)
    redis.call('PEXPIRE', key, expiry)
  else
    redis.call('HSET', key, 's', state)
    if expiry then
      redis.call('PEXPIRE', key, expiry)
    end
  end
end
return replies

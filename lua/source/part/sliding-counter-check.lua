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
-- include state
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

-- include clock

-- Decision
-- include window
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

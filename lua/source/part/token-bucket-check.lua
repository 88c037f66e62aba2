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
-- include state
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

-- include clock

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

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
-- include state
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

-- include clock

-- Decision
-- include window
if not running then
  spent = 0
end
if spent > limit - cost then
  local left = spent < limit and limit - spent or 0
  return {'DENIED', now, effective, limit, left, finish - now, finish}
end

spent = spent + cost
local state = ('%s %d %d'):format(id, spent, effective)
local expiry = not running and finish + grace - now
local left, reset = limit - spent, finish

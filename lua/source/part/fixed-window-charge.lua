spent = spent + cost
local state = id .. (' %d %d'):format(spent, effective)
local expiry = not running and finish + grace - now
local left, reset = limit - spent, finish

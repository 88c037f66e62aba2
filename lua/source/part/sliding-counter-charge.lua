current = current + cost
local state = id .. (' %d %d %d'):format(previous, current, effective)
local expiry = not running and finish + window + grace - now
local left, reset = limit - estimate - cost, finish + window

current = current + cost
local state = ('%s %d %d %d'):format(id, previous, current, effective)
local expiry = not running and finish + window + grace - now
local left, reset = limit - estimate - cost, finish + window

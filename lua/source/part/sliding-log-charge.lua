total = (used > 0 and total or EMPTY) + cost
local state = ('%d:%d'):format(total, cost)
local expiry = effective + window + grace - now
local left, reset = limit - used - cost, effective + window

total = (used > 0 and total or 0) + cost
local state = ('%016d:%d'):format(total, cost)
local expiry = effective + window + grace - now
local left, reset = limit - used - cost, effective + window

debt = debt + cost * interval
local limit, left = capacity, floor((full - debt) / interval)
local reset = effective + ceil(debt / refill)
local stale = armed < reset + grace or armed > reset + 2 * grace
if stale then
  armed = reset + 2 * grace
end
local state = id .. (' %d %d %d'):format(debt, effective, armed)
local expiry = stale and armed - now

local finish = effective - effective % window + window
local running = known and last >= finish - window

local finish = effective - effective % window + window
local running = state and last >= finish - window

#!lua
-- Sliding log: the units of any `window` stay within `limit`. It is exact, since it
-- remembers each admission until it has left the window.
--
-- Argument, one line:
--   sl1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, a sorted set:
--   sl1:<revision>:<window>  whose state it is; its score is 0
--   <total>:<units>          an admission; its score is when
--     total  10^15 and the units spent since the log was empty, these included
--     units  units of this admission
-- Times and durations are in ms. Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
local EMPTY = 1000000000000000 -- the total of an empty log: all have as many digits, to sort by
local floor = math.floor

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
-- include sliding-log-check

-- Charge
-- include sliding-log-charge

-- Writes: nothing below may raise
-- include log-write
return {'ALLOWED', now, effective, limit, left, 0, reset}

#!lua
-- Fixed window: each window, aligned to the epoch, admits up to `limit` units.
--
-- Argument, one line:
--   fw1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   fw1:<revision>:<window> <spent> <last>
--     spent  units spent in the window of last
--     last   time of the last admission
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
-- include fixed-window-check

-- Charge
-- include fixed-window-charge

-- Writes: nothing below may raise
-- include hash-write
return {'ALLOWED', now, effective, limit, left, 0, reset}

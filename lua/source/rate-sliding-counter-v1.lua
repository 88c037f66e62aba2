#!lua
-- Sliding-window counter: the units of the current window plus the share of the
-- previous window that the sliding one still covers, rounded up, stay within
-- `limit`. Windows are aligned to the epoch; shares are counted in millionths.
--
-- Argument, one line:
--   sc1:<revision>:<window> <limit> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   sc1:<revision>:<window> <previous> <current> <last>
--     previous  units spent in the window before that of last
--     current   units spent in the window of last
--     last      time of the last admission
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
local SCALE = 1000000
local COUNT = 9007199254 -- EXACT / SCALE: counts and windows up to here can be scaled
-- Of a rounded n / d they are exact: while n is an integer up to EXACT, and d one,
-- rounding never takes a quotient onto or across an integer.
local floor, ceil = math.floor, math.ceil

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
-- include sliding-counter-check

-- Charge
-- include sliding-counter-charge

-- Writes: nothing below may raise
-- include hash-write
return {'ALLOWED', now, effective, limit, left, 0, reset}

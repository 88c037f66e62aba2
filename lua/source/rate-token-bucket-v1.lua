#!lua
-- Token bucket: a bucket holds up to `capacity` tokens, starts full and gains
-- `refill` tokens each `interval` ms, evenly.
--
-- The state is not the tokens but the debt, what is missing from full, counted
-- in 1/interval tokens: each ms repays exactly `refill` of these units, so no
-- refill is ever rounded. The caller reduces refill and interval by their
-- greatest common divisor.
--
-- Argument, one line:
--   tb1:<revision>:<refill>:<interval> <capacity> <max_cost> <grace> <regression> <cost>
-- State, field `s` of a hash:
--   tb1:<revision>:<refill>:<interval> <debt> <last> <armed>
--     debt   debt at last
--     last   time of the last admission
--     armed  until when the time-to-live is armed
-- The first word of both says whose state it is. Times and durations are in ms.
-- Bounds and reply: manifest.json.

local EXACT = 9007199254740991 -- 2^53 - 1: every integer up to here is exact
-- Of a rounded n / d they are exact: while n is an integer up to EXACT, and d one,
-- rounding never takes a quotient onto or across an integer.
local floor, ceil = math.floor, math.ceil

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Argument
local key = KEYS[1]
local line = #KEYS == 1 and #ARGV == 1 and ARGV[1] or ''
-- include token-bucket-check

-- Charge
-- include token-bucket-charge

-- Writes: nothing below may raise
-- include hash-write
return {'ALLOWED', now, effective, limit, left, 0, reset}

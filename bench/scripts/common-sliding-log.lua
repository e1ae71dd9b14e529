-- KEYS[1]: key (sorted set)
-- ARGV[1]: limit
-- ARGV[2]: window size in milliseconds
-- ARGV[3]: current time in milliseconds
-- Returns: {allowed (0/1), remaining, reset_time}

local key = KEYS[1]
local limit = tonumber(ARGV[1])
local window_size = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])

-- Calculate window start time
local window_start = current_time - window_size

-- Remove old entries (outside current window)
redis.call('ZREMRANGEBYSCORE', key, 0, window_start)

-- Count requests in current window
local request_count = redis.call('ZCARD', key)

-- Check limit
if request_count < limit then
    -- Allow request: add current timestamp
    redis.call('ZADD', key, current_time, current_time .. ':' .. math.random())
    redis.call('EXPIRE', key, math.ceil(window_size / 1000) * 2)

    local remaining = limit - request_count - 1
    local reset_time = current_time + window_size

    return {1, remaining, reset_time}
else
    -- Deny request
    -- Get oldest request time to calculate reset
    local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local reset_time = tonumber(oldest[2]) + window_size

    return {0, 0, reset_time}
end

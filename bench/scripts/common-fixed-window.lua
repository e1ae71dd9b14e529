-- KEYS[1]: key prefix
-- ARGV[1]: limit
-- ARGV[2]: window size in milliseconds
-- ARGV[3]: current time in milliseconds
-- Returns: {allowed (0/1), remaining, reset_time}

local key_prefix = KEYS[1]
local limit = tonumber(ARGV[1])
local window_size = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])

-- Calculate current window
local current_window = math.floor(current_time / window_size)
local window_key = key_prefix .. ':' .. current_window

-- Get current count
local current_count = tonumber(redis.call('GET', window_key) or '0')

-- Check limit
if current_count < limit then
    -- Allow request
    redis.call('INCR', window_key)
    redis.call('EXPIRE', window_key, window_size * 2 / 1000)

    local remaining = limit - current_count - 1
    local reset_time = (current_window + 1) * window_size

    return {1, remaining, reset_time}
else
    -- Deny request
    local reset_time = (current_window + 1) * window_size
    return {0, 0, reset_time}
end

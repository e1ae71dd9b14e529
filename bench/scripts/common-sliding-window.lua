-- KEYS[1]: key prefix (e.g., "ratelimit:user:123")
-- ARGV[1]: limit (max requests)
-- ARGV[2]: window size in milliseconds
-- ARGV[3]: current time in milliseconds
-- Returns: {allowed (0/1), remaining, reset_time}

local key_prefix = KEYS[1]
local limit = tonumber(ARGV[1])
local window_size = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])

-- Calculate current and previous window
local current_window = math.floor(current_time / window_size)
local previous_window = current_window - 1

-- Build keys
local current_key = key_prefix .. ':' .. current_window
local previous_key = key_prefix .. ':' .. previous_window

-- Get counts
local current_count = tonumber(redis.call('GET', current_key) or '0')
local previous_count = tonumber(redis.call('GET', previous_key) or '0')

-- Calculate position in current window
local elapsed_time_in_window = current_time % window_size
local overlap_percentage = (window_size - elapsed_time_in_window) / window_size

-- Weighted count: previous_count * overlap + current_count
local weighted_count = math.floor(previous_count * overlap_percentage + current_count)

-- Check limit
if weighted_count < limit then
    -- Allow request
    redis.call('INCR', current_key)
    redis.call('EXPIRE', current_key, window_size * 2 / 1000) -- TTL in seconds

    local remaining = limit - weighted_count - 1
    local reset_time = (current_window + 1) * window_size

    return {1, remaining, reset_time}
else
    -- Deny request
    local reset_time = (current_window + 1) * window_size
    return {0, 0, reset_time}
end

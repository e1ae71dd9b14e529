-- KEYS[1]: key (hash with tokens and last_refill_time)
-- ARGV[1]: capacity (bucket size)
-- ARGV[2]: refill_rate (tokens per second)
-- ARGV[3]: current time in milliseconds
-- ARGV[4]: tokens_per_request (default 1)
-- Returns: {allowed (0/1), remaining_tokens, retry_after_ms}

local key = KEYS[1]
local capacity = tonumber(ARGV[1])
local refill_rate = tonumber(ARGV[2])  -- tokens per second
local current_time = tonumber(ARGV[3])
local tokens_per_request = tonumber(ARGV[4] or '1')

-- Get current state
local bucket = redis.call('HMGET', key, 'tokens', 'last_refill_time')
local tokens = tonumber(bucket[1])
local last_refill_time = tonumber(bucket[2])

-- Initialize if first request
if tokens == nil or last_refill_time == nil then
    tokens = capacity
    last_refill_time = current_time
end

-- Calculate refill
local elapsed_seconds = (current_time - last_refill_time) / 1000
local refill_tokens = elapsed_seconds * refill_rate
tokens = math.min(tokens + refill_tokens, capacity)
last_refill_time = current_time

-- Check if enough tokens
if tokens >= tokens_per_request then
    -- Allow request
    tokens = tokens - tokens_per_request
    redis.call('HMSET', key, 'tokens', tokens, 'last_refill_time', last_refill_time)
    redis.call('EXPIRE', key, math.ceil(capacity / refill_rate) * 2)

    return {1, math.floor(tokens), 0}
else
    -- Deny request
    redis.call('HMSET', key, 'tokens', tokens, 'last_refill_time', last_refill_time)
    redis.call('EXPIRE', key, math.ceil(capacity / refill_rate) * 2)

    -- Calculate retry after
    local tokens_needed = tokens_per_request - tokens
    local retry_after_ms = math.ceil((tokens_needed / refill_rate) * 1000)

    return {0, math.floor(tokens), retry_after_ms}
end

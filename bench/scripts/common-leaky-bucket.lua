-- KEYS[1]: queue key (list)
-- ARGV[1]: capacity (bucket size)
-- ARGV[2]: leak_rate (requests per second)
-- ARGV[3]: current time in milliseconds
-- Returns: {allowed (0/1), queue_length, retry_after_ms}

local key = KEYS[1]
local capacity = tonumber(ARGV[1])
local leak_rate = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])

-- Get metadata
local meta_key = key .. ':meta'
local meta = redis.call('HMGET', meta_key, 'last_leak_time', 'queue_size')
local last_leak_time = tonumber(meta[1]) or current_time
local queue_size = tonumber(meta[2]) or 0

-- Leak requests
local elapsed_seconds = (current_time - last_leak_time) / 1000
local leaked_requests = math.floor(elapsed_seconds * leak_rate)

queue_size = math.max(0, queue_size - leaked_requests)
last_leak_time = current_time

-- Check capacity
if queue_size < capacity then
    -- Allow request
    queue_size = queue_size + 1
    redis.call('HMSET', meta_key, 'last_leak_time', last_leak_time, 'queue_size', queue_size)
    redis.call('EXPIRE', meta_key, math.ceil(capacity / leak_rate) * 2)

    return {1, queue_size, 0}
else
    -- Deny request
    redis.call('HMSET', meta_key, 'last_leak_time', last_leak_time, 'queue_size', queue_size)
    redis.call('EXPIRE', meta_key, math.ceil(capacity / leak_rate) * 2)

    -- Calculate retry after
    local retry_after_ms = math.ceil((1 / leak_rate) * 1000)

    return {0, queue_size, retry_after_ms}
end

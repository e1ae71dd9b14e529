-- Whole numbers above this one cannot be told from their neighbours.
local EXACT = 9007199254740991

local FOREIGN = 'sluice: the key holds something else than a state of this rule, and it was left as it is'

-- Lua 5.4 tells whole numbers from others, and its whole numbers overflow: adding 0.0 keeps all of them doubles.
local function whole(what, text, least, most)
  local number = tonumber(text)
  if number and number >= least and number <= (most or EXACT) and number % 1 == 0 then
    return number + 0.0
  end
  local range = most and string.format('from %.0f to %.0f', least, most) or string.format('of at least %.0f', least)
  return error('sluice: ' .. what .. ' must be a whole number ' .. range .. ', got ' .. tostring(text), 0)
end

local function choice(what, text, first, second)
  if text == first or text == second then
    return text
  end
  return error('sluice: ' .. what .. ' must be ' .. first .. ' or ' .. second .. ', got ' .. tostring(text), 0)
end

local function exactly(what, product)
  if product > EXACT then
    error('sluice: ' .. what .. ' must stay below 2^53, got ' .. string.format('%.0f', product), 0)
  end
end

-- The time of the decision, and whether it is the server's own: TIME is read once.
local function clock(text)
  if text and text ~= '-1' then
    return whole('nowMs', text, 0), false
  end
  local time = redis.call('TIME')
  return time[1] * 1000.0 + math.floor(time[2] / 1000), true
end

-- The count after cost: never below zero, and above ceiling only if it already was.
local function addBounded(used, cost, ceiling)
  if cost < 0 then
    return math.max(0, used + cost)
  end
  return math.max(used, math.min(used + cost, ceiling))
end

-- One step on a state that other parameters have counted. Time goes by those until something is counted: theirs is the step by them. Then
-- what is used counts as used now, by the rule's own: mine is the step by those, and recounted the state, nil for nothing. At last, after
-- keeps, the recounted state where it is fresh sooner: that is kept even when nothing is taken.
local function stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
  local _, theirMs, myMs
  _, _, theirMs = theirs(state, nowMs, 0, true)
  if theirMs == 0 then
    return mine(nil, nowMs, cost, force)
  end
  local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned =
    theirs(state, nowMs, cost, force, takenMs)
  if cost > 0 and retryAfterMs == 0 then
    -- Without keeps: the key ends when the state before it would have.
    retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned = mine(recounted, nowMs, cost, true)
    return retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned
  end
  _, _, myMs = mine(recounted, nowMs, 0, true)
  local sooner = myMs > 0 and myMs < theirMs and recounted or nil
  return retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned, false, sooner
end

local LONGEST_MS = 315619200000

-- The operation that a request names, its numbers, and for how long a refusal blocks the key.
local function readRequest(request)
  local most =
    { peek = 1, charge = 1, giveBack = 2, hold = 3, settle = 2, renew = 2, block = 1, unblock = 0, reset = 0 }
  local asked, blockForMs = string.match(request, '^(.*):blockFor:(%d+)$')
  local operation, text = string.match(asked or request, '^(%w+)([:%d]*)$')
  local numbers = {}
  for number in string.gmatch(text or '', ':(%d+)') do
    numbers[#numbers + 1] = number
  end
  local isTaking = operation == 'hold' or tonumber(operation)
  local isKnown = operation and #numbers <= (tonumber(operation) and 0 or most[operation] or -1)
  if not isKnown or string.gsub(text, ':%d+', '') ~= '' or (asked and not isTaking) then
    local known = 'a cost or peek, charge, giveBack, hold, settle, renew, block, unblock or reset'
    error('sluice: a request is ' .. known .. ', got ' .. request, 0)
  end
  return operation, numbers, blockForMs and whole('the milliseconds of a blockFor', blockForMs, 1, LONGEST_MS), isTaking
end

-- What neither consumes nor holds. Answers the cost to look at afterwards, and of a hold whether it was there.
local function prepare(rule, entry, operation, numbers, nowMs)
  local first, second = numbers[1], numbers[2]
  if operation == 'peek' then
    return whole('the cost of a peek', first or 1, 0)
  elseif operation == 'charge' then
    adjust(rule, entry, whole('the amount of a charge', first or 1, 1), nowMs)
  elseif operation == 'giveBack' then
    local takenMs = second and whole('the time of a giveBack', second, 0)
    adjust(rule, entry, -whole('the amount of a giveBack', first or 1, 1), nowMs, takenMs)
  elseif operation == 'block' then
    entry.changed = true
    setBlock(entry, nowMs, nowMs + whole('the milliseconds of a block', first, 1, LONGEST_MS))
  elseif operation == 'settle' then
    local id = whole('the id of a settle', first, 1)
    return 1, settle(rule, entry, id, whole('the amount of a settle', second, 0), nowMs)
  elseif operation == 'renew' then
    local id = whole('the id of a renew', first, 1)
    return 1, renew(rule, entry, id, whole('the milliseconds of a renew', second, 1, LONGEST_MS), nowMs)
  else
    setBlock(entry, nil, nil)
    if operation == 'reset' then
      entry.changed = entry.changed or entry.exists
      entry.state, entry.holds, entry.counted = nil, nil, true
    end
  end
  return 1
end

-- Takes a cost, for good or for a time. A refusal for want of room may block the key.
local function take(rule, entry, operation, numbers, blockForMs, nowMs)
  local allowed, remaining, retryAfterMs, resetAfterMs, waitMs, isCrowded
  if operation == 'hold' then
    local amount, id = whole('the amount of a hold', numbers[1], 1), whole('the id of a hold', numbers[2], 1)
    local holdMs = whole('the milliseconds of a hold', numbers[3], 1, LONGEST_MS)
    allowed, remaining, retryAfterMs, resetAfterMs, waitMs, isCrowded = hold(rule, entry, amount, id, holdMs, nowMs)
  else
    local cost = whole('the cost', operation, 1)
    allowed, remaining, retryAfterMs, resetAfterMs, waitMs = judge(rule, entry, cost, nowMs, true)
  end
  if not blockForMs or isCrowded or allowed == 1 or retryAfterMs < 0 or waitMs > 0 then
    return allowed, remaining, retryAfterMs, resetAfterMs, waitMs
  end
  entry.changed = true
  setBlock(entry, nowMs, nowMs + blockForMs)
  entry.resetAfterMs = math.max(resetAfterMs, blockForMs)
  return 0, 0, math.max(retryAfterMs, blockForMs), entry.resetAfterMs, 0
end

local function decide(rule, entry, request, nowMs)
  if tonumber(request) then
    return judge(rule, entry, whole('the cost', request, 1), nowMs, true)
  end
  local operation, numbers, blockForMs, isTaking = readRequest(request)
  if isTaking then
    return take(rule, entry, operation, numbers, blockForMs, nowMs)
  end
  local cost, isFound = prepare(rule, entry, operation, numbers, nowMs)
  local allowed, remaining, retryAfterMs, resetAfterMs, waitMs = judge(rule, entry, cost, nowMs, false)
  if isFound == nil then
    return allowed, remaining, retryAfterMs, resetAfterMs, waitMs
  end
  return isFound and 1 or 0, remaining, isFound and 0 or -1, resetAfterMs, 0
end

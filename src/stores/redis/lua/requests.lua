-- The most holds of one key at once.
local MOST_HOLDS = 1000

-- Ten calendar years.
local LONGEST_MS = 315619200000

-- What answers every request but a plain cost. Made when one comes, and then once.
local answerOther
local function asking()
  if answerOther then
    return answerOther
  end

  local function setBlock(entry, atMs, untilMs)
    entry.changed = entry.changed or entry.blockAtMs ~= atMs
    entry.blockAtMs, entry.untilMs = atMs, untilMs
  end

  -- A block that is over goes with the next change.
  local function dropEndedBlock(entry, nowMs)
    if entry.untilMs and entry.untilMs <= nowMs then
      setBlock(entry, nil, nil)
    end
  end

  -- Adds cost, negative to give back, whatever is left.
  local function adjust(rule, entry, cost, nowMs, takenMs)
    local timeMs = steady(rule, entry, nowMs)
    if cost > 0 and entry.holds then
      holding().clip(rule, entry, timeMs)
    end
    local _, _, resetAfterMs, _, state = rule.step(entry.state, timeMs, cost, true, takenMs)
    entry.changed = entry.changed or entry.exists or resetAfterMs > 0
    entry.counted = true
    entry.state = resetAfterMs > 0 and state or nil
    dropEndedBlock(entry, nowMs)
  end

  local function findHold(entry, id)
    for _, hold in ipairs(entry.holds or {}) do
      if hold.id == id then
        return hold
      end
    end
  end

  -- Ends a hold of which used was used. Answers whether it was there.
  local function settle(rule, entry, id, used, nowMs)
    entry.leastMs = steady(rule, entry, nowMs)
    local settled = findHold(entry, id)
    if not settled then
      return false
    end
    entry.holds = holding().map(entry.holds, function(hold)
      return hold ~= settled and hold or nil
    end)
    local rest = settled.amount - used
    if rest < 0 then
      adjust(rule, entry, -rest, nowMs)
    else
      adjust(rule, entry, -math.min(rest, settled.left), nowMs, settled.takenMs)
    end
    entry.changed = true
    return true
  end

  -- Lets a hold last for holdMs from now. Answers whether it was there.
  local function renew(rule, entry, id, holdMs, nowMs)
    local timeMs = steady(rule, entry, nowMs)
    local renewed = findHold(entry, id)
    entry.leastMs = timeMs
    if not renewed then
      return false
    end
    local takenMs = renewed.takenMs
    if rule.holds == 'leased' then
      -- A lease counts from when it was taken: to last longer it is taken again.
      local _, _, resetAfterMs, _, released, amount = rule.step(entry.state, timeMs, -renewed.amount, true, takenMs)
      if (amount or 0) < renewed.amount then
        return false
      end
      _, _, _, _, entry.state = rule.step(resetAfterMs > 0 and released or nil, timeMs, renewed.amount, true)
      takenMs = timeMs
    end
    entry.holds = holding().map(entry.holds, function(hold)
      return hold == renewed and holding().with(hold, hold.left, takenMs, timeMs + holdMs) or hold
    end)
    entry.changed, entry.counted, entry.leastMs = true, true, nil
    dropEndedBlock(entry, nowMs)
    return true
  end

  -- Takes amount for a time, unless too many hold already.
  local function hold(rule, entry, amount, id, holdMs, nowMs)
    entry.leastMs = steady(rule, entry, nowMs)
    if not entry.holds or #entry.holds < MOST_HOLDS then
      return judge(rule, entry, amount, nowMs, true, { id = id, amount = amount, holdMs = holdMs })
    end
    local firstMs = math.huge
    for _, other in ipairs(entry.holds) do
      firstMs = math.min(firstMs, other.untilMs - nowMs)
    end
    local allowed, remaining, retryAfterMs, resetAfterMs, waitMs = judge(rule, entry, amount, nowMs, false)
    if allowed == 1 or retryAfterMs >= 0 then
      retryAfterMs = math.max(firstMs, retryAfterMs)
    end
    return 0, remaining, retryAfterMs, resetAfterMs, allowed == 1 and 0 or waitMs, true
  end

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
    return operation,
      numbers,
      blockForMs and whole('the milliseconds of a blockFor', blockForMs, 1, LONGEST_MS),
      isTaking
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

  function answerOther(rule, entry, request, nowMs, isShadow)
    local operation, numbers, blockForMs, isTaking = readRequest(request)
    if isTaking then
      return take(rule, entry, operation, numbers, not isShadow and blockForMs, nowMs)
    end
    local cost, isFound = prepare(rule, entry, operation, numbers, nowMs)
    local allowed, remaining, retryAfterMs, resetAfterMs, waitMs = judge(rule, entry, cost, nowMs, false)
    if isFound == nil then
      return allowed, remaining, retryAfterMs, resetAfterMs, waitMs
    end
    return isFound and 1 or 0, remaining, isFound and 0 or -1, resetAfterMs, 0
  end

  return answerOther
end

-- Adds cost, negative to give back, whatever is left. A block that is over goes with the change.
local function adjust(rule, entry, cost, nowMs, takenMs)
  local timeMs = steady(rule, entry, nowMs)
  if cost > 0 and entry.holds then
    holding().clip(rule, entry, timeMs)
  end
  local _, _, resetAfterMs, _, _, state = rule.step(entry.state, timeMs, cost, true, takenMs)
  entry.changed = entry.changed or entry.exists or resetAfterMs > 0
  entry.counted = true
  entry.state = resetAfterMs > 0 and state or nil
  if entry.untilMs and entry.untilMs <= nowMs then
    entry.changed, entry.blockAtMs, entry.untilMs = true, nil, nil
  end
end

-- What answers requests of several numbers. Made when one comes, and then once: every function that is made costs every call.
local askedFunctions
local function asking()
  if askedFunctions then
    return askedFunctions
  end
  -- Ten calendar years.
  local longestMs = 315619200000

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
      local amount, unused = settled.amount, math.min(rest, settled.left)
      if used == 0 then
        unused = settled.left
      elseif settled.left > amount then
        -- After the limit was raised a hold counts for more than it reserved, and so does each request of it.
        unused = math.floor(rest * settled.left / amount)
      end
      adjust(rule, entry, -unused, nowMs, settled.takenMs)
    end
    entry.changed = true
    return true
  end

  -- Lets a hold last for holdMs from now. Answers whether it was there.
  local function extend(rule, entry, id, holdMs, nowMs)
    local timeMs = steady(rule, entry, nowMs)
    local extended = findHold(entry, id)
    entry.leastMs = timeMs
    if not extended then
      return false
    end
    local takenMs = extended.takenMs
    if rule.holds == 'leased' then
      -- A lease counts from when it was taken: to last longer it is taken again.
      local _, _, resetAfterMs, _, _, released, amount = rule.step(entry.state, timeMs, -extended.amount, true, takenMs)
      if (amount or 0) < extended.amount then
        return false
      end
      _, _, _, _, _, entry.state = rule.step(resetAfterMs > 0 and released or nil, timeMs, extended.amount, true)
      takenMs = timeMs
    end
    entry.holds = holding().map(entry.holds, function(hold)
      return hold == extended and holding().with(hold, hold.left, takenMs, timeMs + holdMs) or hold
    end)
    entry.changed, entry.counted, entry.leastMs = true, true, nil
    if entry.untilMs and entry.untilMs <= nowMs then
      entry.blockAtMs, entry.untilMs = nil, nil
    end
    return true
  end

  -- Takes amount for a time, unless a thousand hold already. Answers at last whether that is so.
  local function hold(rule, entry, amount, id, holdMs, nowMs)
    entry.leastMs = steady(rule, entry, nowMs)
    if not entry.holds or #entry.holds < 1000 then
      return judge(rule, entry, amount, nowMs, true, { id = id, amount = amount, holdMs = holdMs })
    end
    local firstMs = math.huge
    for _, other in ipairs(entry.holds) do
      firstMs = math.min(firstMs, other.untilMs - nowMs)
    end
    local allowed, remaining, laterMs, resetAfterMs, waitMs = judge(rule, entry, amount, nowMs, false)
    if allowed == 1 then
      return 0, remaining, firstMs, resetAfterMs, 0, true
    end
    return 0, remaining, laterMs < 0 and laterMs or math.max(firstMs, laterMs), resetAfterMs, waitMs, true
  end

  -- Takes a cost, for good or for a time. A refusal for want of room blocks the key, if it is to.
  local function take(rule, entry, request, nowMs, blockForMs)
    local allowed, remaining, retryAfterMs, resetAfterMs, waitMs, isCrowded
    local amount, id, holdMs = string.match(request, '^reserve:(%d+):(%d+):(%d+)$')
    if amount then
      amount, id = whole('the amount of a reserve', amount, 1), whole('the id of a reserve', id, 1)
      holdMs = whole('the milliseconds of a reserve', holdMs, 1, longestMs)
      allowed, remaining, retryAfterMs, resetAfterMs, waitMs, isCrowded = hold(rule, entry, amount, id, holdMs, nowMs)
    else
      allowed, remaining, retryAfterMs, resetAfterMs, waitMs =
        judge(rule, entry, whole('the cost', request, 1), nowMs, true)
    end
    -- A block that is over stays until something has passed, and until then there is no other one: a client that was told during
    -- a block when its cost passes, and tries before that, must not be told a later time.
    if not blockForMs or isCrowded or allowed == 1 or retryAfterMs < 0 or entry.blockAtMs then
      return allowed, remaining, retryAfterMs, resetAfterMs, waitMs
    end
    -- A block that ended before the rule lets the cost pass would be followed by another one, and the two by a third.
    local blockedMs = math.max(retryAfterMs, blockForMs)
    entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + blockedMs
    entry.resetAfterMs = math.max(resetAfterMs, blockedMs)
    return 0, 0, blockedMs, entry.resetAfterMs, 0
  end

  local function answer(rule, entry, request, nowMs, isShadow)
    local asked, blockForMs = string.match(request, '^(.+):blockFor:(%d+)$')
    blockForMs = asked and whole('the milliseconds of a blockFor', blockForMs, 1, longestMs)
    asked = asked or request
    if tonumber(asked) or string.match(asked, '^reserve:%d+:%d+:%d+$') then
      -- What is only watched blocks nobody.
      return take(rule, entry, asked, nowMs, not isShadow and blockForMs)
    end
    local operation, first, second = string.match(request, '^(%a+):(%d+):(%d+)$')
    local isFound
    if operation == 'refund' then
      local takenMs = whole('the time of a refund', second, 0)
      adjust(rule, entry, -whole('the amount of a refund', first, 1), nowMs, takenMs)
      return judge(rule, entry, 1, nowMs, false)
    elseif operation == 'settle' then
      local used = whole('the amount of a settle', second, 0)
      isFound = settle(rule, entry, whole('the id of a settle', first, 1), used, nowMs)
    elseif operation == 'extend' then
      local holdMs = whole('the milliseconds of an extend', second, 1, longestMs)
      isFound = extend(rule, entry, whole('the id of an extend', first, 1), holdMs, nowMs)
    else
      local short = 'a cost, peek:cost, charge:amount, refund:amount, reserve:amount:id:milliseconds, settle:id:used, '
      local known = short .. 'extend:id:milliseconds, block:milliseconds, reblock:milliseconds, unblock or reset'
      error('sluice: a request is ' .. known .. ', got ' .. request, 0)
    end
    -- Where not even one passes, more than nothing passes when one does.
    local _, remaining, laterMs, resetAfterMs = judge(rule, entry, 1, nowMs, false)
    return isFound and 1 or 0, remaining, isFound and laterMs or -1, resetAfterMs, 0
  end

  askedFunctions = { answer = answer }
  return askedFunctions
end

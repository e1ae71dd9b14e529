-- What few keys need: those whose clock was set back for good. Answers the time to decide at, but for holds.
local function moveBack(rule, entry, nowMs)
  if entry.untilMs and entry.blockAtMs - nowMs > MOST_LAG_MS then
    entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + entry.untilMs - entry.blockAtMs
  end
  local timeMs, state = nowMs, entry.state
  if state and state.atMs - nowMs > MOST_LAG_MS then
    local _, _, resetAfterMs, _, _, moved = step(rule, state, nowMs, 0, true)
    entry.state, entry.changed, entry.counted = resetAfterMs > 0 and moved or nil, true, true
    if entry.holds then
      -- A window starts before the time that it is moved to. What a hold took has to stay in the window that counts it.
      entry.holds = moveHolds(entry.holds, state.atMs - (moved and moved.atMs or nowMs), state.atMs - nowMs)
    end
    entry.grants = entry.grants and moveGrants(entry.grants, state.atMs - nowMs, math.huge)
  elseif state then
    timeMs = math.max(state.atMs, nowMs)
  end
  if entry.holds and entry.holds.lastTakenMs - nowMs > MOST_LAG_MS then
    entry.holds, entry.changed, entry.counted = pullHolds(entry.holds, nowMs, timeMs), true, true
    entry.isUnfinished = entry.holds.count > MOST_PULLED_HOLDS
  end
  return timeMs
end

-- The time to decide at. A key's time never runs backwards: a small step back of the clock is waited out at the key's own time.
-- After a large one the entry moves to the clock's time with its level kept, and that is stored even by a refusal or a peek: if
-- it were not, a client that is always refused would start over at every request and never get out.
local function keyTime(rule, entry, nowMs)
  if entry.timeMs then
    return entry.timeMs
  end
  local timeMs = math.max(nowMs, entry.state and entry.state.atMs or 0)
  local latestMs =
    math.max(timeMs, entry.holds and entry.holds.lastTakenMs or 0, entry.untilMs and entry.blockAtMs or 0)
  if latestMs - nowMs > MOST_LAG_MS then
    timeMs = moveBack(rule, entry, nowMs)
  end
  if entry.holds and not entry.isUnfinished then
    -- The key was there when a hold was taken, also if nothing else tells of that any more.
    timeMs = math.max(timeMs, entry.holds.lastTakenMs)
  end
  if entry.grants and not entry.isUnfinished then
    foldEnded(rule, entry, timeMs)
  end
  if entry.holds and not entry.isUnfinished then
    returnExpired(rule, entry, timeMs)
  end
  local counting = entry.state and not entry.isUnfinished and readCounting(rule, entry.state)
  if counting then
    -- Counted by other parameters, and fresh sooner by these: as that is used now, it is stored even by a refusal or a peek.
    local own, _, ownMs, theirMs = recountState(rule, counting, entry.state, timeMs), nil, nil, nil
    _, _, ownMs = rule.step(rule, own, timeMs, 0, true)
    _, _, theirMs = rule.step(counting, entry.state, timeMs, 0, true)
    if ownMs > 0 and ownMs < theirMs then
      entry.state, entry.changed, entry.counted = own, true, true
    end
  end
  entry.timeMs = timeMs
  return timeMs
end

-- Takes cost if rule and block allow it and it is to be taken, for a time if there is a hold to be. A refusal changes nothing.
-- Answers whether it is allowed, remaining, resetAfterMs, nextAfterMs or else retryAfterMs (-1: never), and delayMs or else blockedMs.
local function consume(rule, entry, cost, nowMs, take, newHold)
  local timeMs = keyTime(rule, entry, nowMs)
  local blockedMs, never = entry.untilMs and math.max(0, entry.untilMs - nowMs) or 0, cost > rule.limit
  local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, state =
    step(rule, countLive(rule, entry, timeMs), timeMs, never and 0 or cost, false)
  local passes = retryAfterMs == 0
  local allowed = passes and not never and blockedMs == 0
  if allowed and take then
    if entry.holds then
      clipHolds(rule, entry, timeMs)
    end
    if newHold then
      insertHold(entry, nil, newHold.id, cost, cost, timeMs, timeMs + newHold.holdMs)
    end
    -- What passes proves that a block is over.
    entry.blockAtMs, entry.untilMs = nil, nil
    if entry.grants then
      entry.state = stateAfter(rule, entry.state, timeMs, cost)
    else
      entry.state = resetAfterMs > 0 and state or nil
    end
    entry.changed, entry.counted = true, true
  elseif passes then
    -- The step has counted a cost that is not taken after all: show the state as it stays.
    local _
    _, remaining, resetAfterMs, nextAfterMs = step(rule, countLive(rule, entry, timeMs), timeMs, 0, true)
  elseif entry.grants and not never then
    -- Holds that expire are left out of account: then it may pass sooner.
    retryAfterMs = passesBesideGrants(rule, entry, timeMs, cost, retryAfterMs)
  elseif entry.holds and not never then
    retryAfterMs = passesAfter(rule, entry, timeMs, cost, retryAfterMs)
  end
  if entry.grants then
    resetAfterMs = math.max(resetAfterMs, entry.grants.freshMs - timeMs)
  end
  if entry.holds then
    -- At the latest: then the last of them expires, and the state is fresh.
    resetAfterMs = math.max(readUntil(entry.holds, entry.holds.count) - timeMs, resetAfterMs)
    if allowed and remaining < rule.limit and not entry.grants then
      nextAfterMs = passesAfter(rule, entry, timeMs, remaining + 1, nextAfterMs)
    end
  end
  -- Rules count from the key's own time; callers count from the clock's.
  local lagMs = timeMs - nowMs
  resetAfterMs = math.max(blockedMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs)
  entry.resetAfterMs = resetAfterMs
  if allowed then
    return true, remaining, resetAfterMs, nextAfterMs == 0 and 0 or nextAfterMs + lagMs, delayMs
  end
  retryAfterMs = never and -1 or math.max(blockedMs, passes and 0 or retryAfterMs + lagMs)
  return false, blockedMs > 0 and 0 or remaining, resetAfterMs, retryAfterMs, never and 0 or blockedMs
end

-- A block that is over goes with a change.
local function endBlock(entry, nowMs)
  if entry.untilMs and entry.untilMs <= nowMs then
    entry.changed, entry.blockAtMs, entry.untilMs = true, nil, nil
  end
end

-- Adds cost, negative to give back, whatever is left.
local function adjust(rule, entry, cost, nowMs, takenMs)
  local timeMs = keyTime(rule, entry, nowMs)
  if cost > 0 and entry.holds then
    clipHolds(rule, entry, timeMs)
  end
  if cost < 0 or not entry.grants then
    entry.state = stateAfter(rule, entry.state, timeMs, cost, takenMs)
  else
    -- The debt has a bound, and the units of the grants have to fit below it when they become a part of the state.
    local counted = stateAfter(rule, countLive(rule, entry, timeMs), timeMs, cost)
    entry.state = stateAfter(rule, counted, timeMs, -entry.grants.sum)
  end
  entry.changed, entry.counted = entry.changed or entry.exists or entry.state ~= nil, true
  endBlock(entry, nowMs)
  entry.timeMs = nil
end

-- Ends a grant of which used was used, as if that was taken now. Answers whether it was there.
local function settleGrant(rule, entry, id, used, nowMs)
  keyTime(rule, entry, nowMs)
  local isFound, others = removeGrant(entry.grants, id)
  if isFound then
    entry.grants = others
    adjust(rule, entry, used, nowMs)
    entry.changed = true
  end
  return isFound
end

-- Ends a hold or a grant of which used was used. Answers whether it was there.
local function settle(rule, entry, id, used, nowMs)
  keyTime(rule, entry, nowMs)
  local row = findHold(entry.holds, id)
  if not row then
    return settleGrant(rule, entry, id, used, nowMs)
  end
  local amount, left, takenMs = readRow(entry.holds, row)
  entry.holds = replaceHold(entry.holds, row)
  local unused = amount - used
  if unused < 0 then
    adjust(rule, entry, -unused, nowMs)
  else
    -- After the limit was raised a hold counts for more than it reserved, and so does each request of it.
    unused = left > amount and math.floor(unused * left / amount) or math.min(unused, left)
    adjust(rule, entry, -(used == 0 and left or unused), nowMs, takenMs)
  end
  entry.changed = true
  return true
end

-- Lets a hold last for holdMs from now. Answers whether it was there.
local function extend(rule, entry, id, holdMs, nowMs)
  local timeMs = keyTime(rule, entry, nowMs)
  local row = findHold(entry.holds, id)
  if not row then
    return false
  end
  local amount, left, takenMs = readRow(entry.holds, row)
  if rule.refunds == 'leased' then
    -- A lease counts from when it was taken: to last longer it is taken again.
    local released, returned = stateAfter(rule, entry.state, timeMs, -amount, takenMs)
    if returned < amount then
      return false
    end
    entry.state, takenMs = stateAfter(rule, released, timeMs, amount), timeMs
  end
  insertHold(entry, row, id, amount, left, takenMs, timeMs + holdMs)
  entry.changed, entry.counted = true, true
  endBlock(entry, nowMs)
  entry.timeMs = nil
  return true
end

-- Takes a cost, for good or for a time unless there are as many holds as there may be. A refusal for want of room blocks the key, if it is to.
local function take(rule, entry, operation, nowMs)
  local amount, isCrowded, firstMs = operation.amount, false, 0
  if operation.type == 'reserve' then
    keyTime(rule, entry, nowMs)
    isCrowded = entry.holds and entry.holds.count >= (rule.mostHolds or MOST_HOLDS)
    firstMs = isCrowded and readUntil(entry.holds, 1) - nowMs or 0
  end
  local newHold = operation.type == 'reserve' and operation or nil
  local allowed, remaining, resetAfterMs, laterMs, waitMs = consume(rule, entry, amount, nowMs, not isCrowded, newHold)
  if isCrowded and allowed then
    return false, remaining, resetAfterMs, firstMs, 0
  elseif isCrowded then
    return false, remaining, resetAfterMs, laterMs < 0 and laterMs or math.max(firstMs, laterMs), waitMs
  end
  -- A block that is over stays until something has passed, and until then there is no other one: a client that was told during
  -- a block when its cost passes, and tries before that, must not be told a later time. What is only watched blocks no one.
  if allowed or laterMs < 0 or not operation.blockMs or operation.isShadow or entry.untilMs then
    return allowed, remaining, resetAfterMs, laterMs, waitMs
  end
  -- A block that ended before the rule lets the cost pass would be followed by another one, and the two by a third.
  local blockedMs = math.max(laterMs, operation.blockMs)
  entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + blockedMs
  entry.resetAfterMs = math.max(resetAfterMs, blockedMs)
  return false, 0, entry.resetAfterMs, blockedMs, 0
end

-- Ends the grant that a process had before the one that it asks for.
local function endEarlier(rule, entry, operation, nowMs)
  if operation.endedId then
    settleGrant(rule, entry, operation.endedId, operation.endedUsed, nowMs)
  end
end

-- What a process that asks for a grant gets, how many there are, and when the last of them ends.
local function describeGrant(entry, units, endMs)
  local grants, timeMs = entry.grants, entry.timeMs
  entry.units, entry.lastsMs = units or 0, endMs and endMs - timeMs or 0
  entry.live, entry.endsMs = grants and grants.count or 0, grants and grants.lastMs - timeMs or 0
end

-- Takes a cost. Where that passes, the process that asks gets units to spend besides.
local function grant(rule, entry, operation, nowMs)
  endEarlier(rule, entry, operation, nowMs)
  local allowed, remaining, resetAfterMs, laterMs, waitMs = take(rule, entry, operation, nowMs)
  local units, endMs = nil, nil
  if allowed then
    units, endMs = sizeGrant(rule, entry, operation, remaining)
  end
  entry.grants = units and addGrant(rule, entry, operation.id, units, endMs) or entry.grants
  describeGrant(entry, units, endMs)
  if units then
    -- Asked once more: what is left beside the grant.
    local _
    entry.timeMs = nil
    _, remaining, resetAfterMs, laterMs = consume(rule, entry, 0, nowMs, false)
  end
  return allowed, remaining, resetAfterMs, laterMs, waitMs
end

-- Decides one operation on one key. Answers as consume does.
local function decide(rule, entry, operation, nowMs)
  local type, amount, isFound = operation.type, operation.amount, nil
  if type == 'consume' or type == 'reserve' then
    return take(rule, entry, operation, nowMs)
  elseif type == 'grant' then
    return grant(rule, entry, operation, nowMs)
  elseif type == 'peek' then
    return consume(rule, entry, amount, nowMs, false)
  elseif type == 'settle' or type == 'extend' then
    local change = type == 'settle' and settle or extend
    isFound = change(rule, entry, operation.id, amount, nowMs)
    -- Where not even one passes, more than nothing passes when one does.
    local _, remaining, resetAfterMs, laterMs = consume(rule, entry, 1, nowMs, false)
    return isFound, remaining, resetAfterMs, isFound and laterMs or -1, 0
  elseif type == 'charge' then
    adjust(rule, entry, amount, nowMs)
  elseif type == 'refund' then
    adjust(rule, entry, -amount, nowMs, operation.takenMs)
  elseif type == 'block' or type == 'reblock' then
    keyTime(rule, entry, nowMs)
    -- A block only gets longer, unless it is to be another one.
    if type == 'reblock' or nowMs + amount >= (entry.untilMs or 0) then
      entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + amount
    end
  else
    entry.changed = entry.changed or entry.untilMs ~= nil or (type == 'reset' and entry.exists)
    entry.blockAtMs, entry.untilMs = nil, nil
    if type == 'reset' then
      -- The units of live grants are being spent, and would count nowhere.
      entry.state, entry.holds, entry.counted, entry.timeMs = nil, nil, true, nil
    end
  end
  return consume(rule, entry, 1, nowMs, false)
end

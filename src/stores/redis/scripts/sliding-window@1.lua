-- sluice sliding-window, version 1: counts the current window in full and the one before by the share that still overlaps, rounded down.
--
-- KEYS[1..n]   what the state of each subject is kept under; on a Cluster all in one slot
-- ARGV[1]      limit: requests per window, whole number >= 1
-- ARGV[2]      windowMs: length of the window in milliseconds, whole number >= 1
-- ARGV[3]      nowMs: time in milliseconds, whole number >= 0, or -1 for the server's, default -1
-- ARGV[4..3+n] request: of each key a cost, whole number >= 1, or peek:cost, charge:amount, giveBack:amount[:takenMs], hold:amount:id:milliseconds, settle:id:used, renew:id:milliseconds, block:milliseconds, unblock, reset; after a cost or hold :blockFor:milliseconds; default 1
-- ARGV[4+n]    maxDebt: how far a charge may go beyond the limit, whole number >= 0, default limit
-- t*           before all of a request: it is made t times, one right after the other
-- =            before the first request: it is the only one and for all keys, and what follows comes right after it
-- returns      for each key five integers: allowed 0|1, remaining, retryAfterMs (-1: never; allowed: nextAfterMs, the time until more than remaining would pass), resetAfterMs, waitMs (allowed: before going on; refused: left of a block)
-- short:       before nowMs: what is allowed at once returns only remaining, resetAfterMs, nextAfterMs, anything else -1 and then all five; or all of it returns -2, the resetAfterMs and the nextAfterMs of all, and of each what remains
-- state        sliding-window@1: start of the current window, its count, the count of the one before, length of the window

local math_floor, math_max, math_min, struct_pack, struct_unpack = math.floor, math.max, math.min, struct.pack, struct.unpack

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
  return time[1] * 1000.0 + math_floor(time[2] / 1000), true
end

-- The count after cost: never below zero, and above ceiling only if it already was.
local function addBounded(used, cost, ceiling)
  if cost < 0 then
    return math_max(0, used + cost)
  end
  return math_max(used, math_min(used + cost, ceiling))
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

local function timeOf(atMs, current, previous, windowMs)
  local isWhole = windowMs % 1 == 0 and atMs % windowMs == 0 and current % 1 == 0 and previous % 1 == 0
  local isCounted = current >= 0 and current <= EXACT and previous >= 0 and previous <= EXACT
  return isWhole and isCounted and windowMs >= 1 and windowMs <= EXACT and atMs >= 0 and atMs <= EXACT and atMs
end

local function step(limit, windowMs, maxDebt, state, nowMs, cost, force, takenMs)
  local atMs = nowMs - nowMs % windowMs
  local elapsedMs = nowMs - atMs
  local current, previous, keeps = 0, 0, false
  if state then
    local stateMs, stateCurrent, statePrevious, madeMs = struct_unpack('<dddd', state)
    if madeMs ~= windowMs then
      local function theirs(...)
        return step(limit, madeMs, maxDebt, ...)
      end
      local function mine(...)
        return step(limit, windowMs, maxDebt, ...)
      end
      -- Where nearly everything fits, what does not remain is used, debt included.
      local _, remaining = step(EXACT, madeMs, maxDebt, state, nowMs, 0, true)
      local recounted
      if remaining < EXACT then
        _, _, _, _, _, recounted = mine(nil, nowMs, EXACT - remaining, true)
      end
      return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
    end
    keeps = atMs == stateMs and stateCurrent > 0
    if atMs <= stateMs then
      current, previous = stateCurrent, statePrevious
    elseif atMs - stateMs <= windowMs then
      previous = stateCurrent
    end
  end

  -- The last windowMs milliseconds end with this one: so many of them lie in the window before. Rounded down: only so are evenly
  -- spaced requests at exactly the limit never refused.
  local sharedMs = windowMs - 1 - elapsedMs
  local passes = force or math_floor(previous * sharedMs / windowMs) <= limit - current - cost
  local returned = 0
  if passes and cost < 0 then
    local inCurrent = not takenMs or takenMs >= atMs
    local inPrevious = not takenMs or (takenMs < atMs and takenMs >= atMs - windowMs)
    local fromCurrent = inCurrent and math_min(-cost, current) or 0
    local fromPrevious = inPrevious and math_min(-cost - fromCurrent, previous) or 0
    current, previous = current - fromCurrent, previous - fromPrevious
    returned = fromCurrent + fromPrevious
  elseif passes then
    current = addBounded(current, cost, limit + maxDebt)
  end

  local remaining = math_max(0, limit - current - math_floor(previous * sharedMs / windowMs))
  local windows = current > 0 and 2 or previous > 0 and 1 or 0
  local resetAfterMs = windows == 0 and 0 or windows * windowMs - elapsedMs
  -- When that passes: what was refused, or else more than remaining.
  local asked, laterMs = passes and remaining + 1 or cost, 0
  local free = limit - current - asked
  if free >= 0 then
    laterMs = math_floor(windowMs * (previous - free - 1) / previous) - elapsedMs
  elseif asked <= limit or not passes then
    laterMs = windowMs - elapsedMs + math_floor(windowMs * (current - limit + asked - 1) / current)
  end
  local next = passes and struct_pack('<dddd', atMs, current, previous, windowMs) or nil
  return passes and 0 or laterMs, remaining, resetAfterMs, passes and laterMs or 0, 0, next, returned, keeps
end

-- What is to be written once everything has been decided, by key: later decisions of the same call see it. False is a key to forget.
local notedKeys, notedValues, notedTtls, slots, count = {}, {}, {}, {}, 0

-- With keeps, the key already ends when it has to.
local function note(key, value, ttlMs, keeps)
  local slot = slots[key]
  if not slot then
    slot = count + 1
    count, slots[key], notedKeys[slot], notedTtls[slot] = slot, slot, key, keeps and 'KEEPTTL' or ttlMs
  elseif not keeps then
    notedTtls[slot] = ttlMs
  end
  notedValues[slot] = value
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeAll(isServerTime)
  local call, laterMs, lastMs, ttlText = redis.call, isServerTime and 0 or 60000, nil, nil
  for slot = 1, count do
    local key, value, ttlMs = notedKeys[slot], notedValues[slot], notedTtls[slot]
    if not value then
      call('DEL', key)
    elseif ttlMs == 'KEEPTTL' then
      call('SET', key, value, ttlMs)
    else
      -- Windows that end at the same time make the same text.
      if ttlMs ~= lastMs then
        lastMs, ttlText = ttlMs, string.format('%.0f', ttlMs + laterMs)
      end
      call('SET', key, value, 'PX', ttlText)
    end
  end
end

-- What only some decisions need. Made when one comes, and then once: every function that is made costs every call.
local frameFunctions
local function frame()
  if frameFunctions then
    return frameFunctions
  end

  -- What few keys need: those with holds, and those whose clock was set back. Made when one comes, and then once: every function
  -- that is made costs every call.
  local heldFunctions
  local function holding()
    if heldFunctions then
      return heldFunctions
    end

    local function read(value, at, count)
      local holds = {}
      for index = 1, count do
        local id, amount, left, takenMs, untilMs = struct_unpack('<ddddd', value, at + 8 + (index - 1) * 40)
        -- What is left of a hold may be a part, and clocks that were set back have times before 1970.
        local isWhole = id % 1 == 0 and amount % 1 == 0 and takenMs % 1 == 0 and untilMs % 1 == 0
        local isCounted = id >= 1 and id <= EXACT and amount >= 1 and amount <= EXACT and left >= 0 and left <= EXACT
        if not (isWhole and isCounted and takenMs >= -EXACT and takenMs < untilMs and untilMs <= 2 * EXACT) then
          error(FOREIGN, 0)
        end
        holds[index] = { id = id, amount = amount, left = left, takenMs = takenMs, untilMs = untilMs }
      end
      return holds
    end

    local function pack(holds)
      local packed = { struct_pack('<d', -#holds - 0.5) }
      for index, hold in ipairs(holds) do
        packed[index + 1] = struct_pack('<ddddd', hold.id, hold.amount, hold.left, hold.takenMs, hold.untilMs)
      end
      return table.concat(packed)
    end

    -- Gives back what holds took. What a lease took comes back by itself.
    local function returned(rule, state, holds, timeMs)
      if rule.holds == 'leased' or not state then
        return state
      end
      local rest = holds
      if rule.holds == 'pooled' then
        -- Where it does not matter when it was taken, whole amounts go back at once: their sum is exact.
        local sum, _, resetAfterMs, next = 0, nil, nil, nil
        rest = {}
        for _, hold in ipairs(holds) do
          if hold.left % 1 == 0 then
            sum = sum + hold.left
          else
            rest[#rest + 1] = hold
          end
        end
        _, _, resetAfterMs, _, _, next = rule.step(state, timeMs, -sum, true)
        state = resetAfterMs > 0 and next or nil
      end
      for _, hold in ipairs(rest) do
        if not state then
          return nil
        end
        local _, _, resetAfterMs, _, _, next = rule.step(state, timeMs, -hold.left, true, hold.takenMs)
        state = resetAfterMs > 0 and next or nil
      end
      return state
    end

    -- The holds for which keep answers a hold: the same one or another.
    local function map(holds, keep)
      local kept = {}
      for _, hold in ipairs(holds) do
        kept[#kept + 1] = keep(hold)
      end
      return #kept > 0 and kept or nil
    end

    local function with(hold, left, takenMs, untilMs)
      return { id = hold.id, amount = hold.amount, left = left, takenMs = takenMs, untilMs = untilMs }
    end

    -- The clock was set back for good: what is far ahead moves by as much as it is. Answers the time to decide at.
    local function moveBack(rule, entry, nowMs, mostLagMs)
      if entry.blockAtMs and entry.blockAtMs - nowMs > mostLagMs then
        entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + entry.untilMs - entry.blockAtMs
      end
      local timeMs, backMs, takenBackMs = nowMs, 0, 0
      local atMs = entry.state and struct_unpack('<d', entry.state) or nowMs
      if atMs - nowMs > mostLagMs then
        local _, _, resetAfterMs, _, _, moved = rule.step(entry.state, nowMs, 0, true)
        entry.state, entry.changed, entry.counted = resetAfterMs > 0 and moved or nil, true, true
        -- A window starts before the time that it is moved to. What a hold took has to stay in the window that counts it.
        backMs, takenBackMs = atMs - nowMs, moved and atMs - struct_unpack('<d', moved) or atMs - nowMs
      else
        timeMs = math_max(atMs, nowMs)
      end
      local isAhead = backMs > 0
      for _, hold in ipairs(entry.holds or {}) do
        isAhead = isAhead or hold.takenMs - nowMs > mostLagMs
      end
      entry.holds = isAhead
          and entry.holds
          and map(entry.holds, function(hold)
            local takenMs, untilMs = hold.takenMs - takenBackMs, hold.untilMs - backMs
            if takenMs - nowMs > mostLagMs then
              takenMs, untilMs = timeMs, untilMs - (takenMs - timeMs)
              entry.changed, entry.counted = true, true
            end
            return with(hold, hold.left, takenMs, untilMs)
          end)
        or entry.holds
      -- The key was there when a hold was taken, also if nothing else tells of that any more.
      for _, hold in ipairs(entry.holds or {}) do
        timeMs = math_max(timeMs, hold.takenMs)
      end
      return timeMs
    end

    local function returnExpired(rule, entry, timeMs)
      local expired, isLive = {}, true
      for _, hold in ipairs(entry.holds) do
        isLive = isLive and hold.untilMs > timeMs
      end
      if isLive then
        return
      end
      entry.holds = map(entry.holds, function(hold)
        if hold.untilMs > timeMs then
          return hold
        end
        expired[#expired + 1] = hold
      end)
      entry.state = returned(rule, entry.state, expired, timeMs)
    end

    -- The holds as they are after a take: what has been refilled since they took it can no longer go back.
    local function clip(rule, entry, timeMs)
      if rule.holds ~= 'pooled' then
        return
      end
      local _, _, _, _, _, _, most = rule.step(entry.state, timeMs, -EXACT, true)
      entry.holds = map(entry.holds, function(hold)
        return hold.left <= most and hold or with(hold, most, hold.takenMs, hold.untilMs)
      end)
    end

    local function add(entry, hold)
      local added = {}
      for index, other in ipairs(entry.holds or {}) do
        added[index] = other
      end
      added[#added + 1] = hold
      entry.holds = added
    end

    -- When a refused cost passes if nobody comes but holds expire, from timeMs.
    local function passesAfter(rule, entry, timeMs, cost)
      local state, atMs, pending = entry.state, timeMs, {}
      if rule.holds ~= 'leased' then
        pending = map(entry.holds, function(hold)
          return hold
        end)
        table.sort(pending, function(one, other)
          return one.untilMs < other.untilMs
        end)
      end
      for _, hold in ipairs(pending) do
        local passesMs = atMs + rule.step(state, atMs, cost, false)
        if passesMs <= hold.untilMs then
          return passesMs - timeMs
        end
        atMs = hold.untilMs
        state = returned(rule, state, { hold }, atMs)
      end
      return atMs + rule.step(state, atMs, cost, false) - timeMs
    end

    -- Time until all holds have expired and what they gave back is fresh.
    local function freshAfter(rule, entry, timeMs)
      local lastMs = timeMs
      for _, hold in ipairs(entry.holds) do
        lastMs = math_max(lastMs, hold.untilMs)
      end
      local emptied, resetAfterMs, _ = returned(rule, entry.state, entry.holds, timeMs), 0, nil
      if emptied then
        _, _, resetAfterMs = rule.step(emptied, timeMs, 0, true)
      end
      return math_max(lastMs - timeMs, resetAfterMs)
    end

    heldFunctions = {
      read = read,
      pack = pack,
      map = map,
      with = with,
      moveBack = moveBack,
      returnExpired = returnExpired,
      clip = clip,
      add = add,
      passesAfter = passesAfter,
      freshAfter = freshAfter,
    }
    return heldFunctions
  end

  -- A state starts with its own time, a whole number. What comes before it starts with another one: a block is -math.huge and two
  -- times, and n holds are the number -n - 0.5 and five numbers each. What cannot be one of these is nothing that was written here.
  local function readEntry(timeOf, value)
    if not value then
      return { exists = false, changed = false, counted = false, resetAfterMs = 0, state = nil, timeMs = 0 }
    end
    -- With all the fields that every decision sets: a table that grows costs more.
    local entry, at = { exists = true, changed = false, counted = false, resetAfterMs = 0, state = value, timeMs = 0 }, 1
    local mark = #value >= 8 and struct_unpack('<d', value) or 0
    if mark == -math.huge and #value >= 24 then
      local _, blockAtMs, untilMs = struct_unpack('<ddd', value)
      if
        not (blockAtMs % 1 == 0 and blockAtMs >= 0 and untilMs % 1 == 0 and untilMs > blockAtMs and untilMs <= 2 * EXACT)
      then
        error(FOREIGN, 0)
      end
      entry.blockAtMs, entry.untilMs = blockAtMs, untilMs
      at, mark = 25, #value >= 32 and struct_unpack('<d', value, 25) or 0
    end
    local count = -mark - 0.5
    if count >= 1 and count % 1 == 0 and #value >= at + 7 + count * 40 then
      entry.holds = holding().read(value, at, count)
      at = at + 8 + count * 40
    end
    if at > 1 then
      entry.state = at <= #value and value:sub(at) or nil
      entry.asMade = entry.holds and { state = entry.state, holds = entry.holds }
    end
    if entry.state and not timeOf(entry.state) then
      error(FOREIGN, 0)
    end
    return entry
  end

  -- Notes what is to be kept of an entry if it has changed, and answers what the key then holds instead of value.
  local function noteEntry(key, entry, value)
    if not entry.changed then
      return value
    elseif entry.resetAfterMs > 0 then
      local resetAfterMs = entry.resetAfterMs
      value = entry.state
      if entry.blockAtMs or entry.holds or entry.asMade then
        -- Holds that have expired, and a rule that has changed, change what is kept when something is counted, and not before.
        local kept = not entry.counted and entry.asMade or entry
        local block = entry.blockAtMs and struct_pack('<ddd', -math.huge, entry.blockAtMs, entry.untilMs) or ''
        local holds = kept.holds and holding().pack(kept.holds) or ''
        value = (kept.stamp or '') .. block .. holds .. (kept.state or '')
        resetAfterMs = math_max(resetAfterMs, kept.resetAfterMs or 0)
      end
      note(key, value, resetAfterMs)
      return value
    elseif entry.exists then
      note(key, false)
    end
    return false
  end

  -- The time to decide at. A key's time never runs backwards: a small step back of the clock is waited out at the key's own time.
  -- After a large one the entry moves to the clock's time with its level kept, and that is stored even by a refusal or a peek: if
  -- it were not, a client that is always refused would start over at every request and never get out.
  local function steady(rule, entry, nowMs)
    -- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
    local mostLagMs = 60000
    local timeMs = math_max(nowMs, entry.state and struct_unpack('<d', entry.state) or 0)
    if timeMs - nowMs > mostLagMs or entry.holds or (entry.blockAtMs or 0) - nowMs > mostLagMs then
      timeMs = holding().moveBack(rule, entry, nowMs, mostLagMs)
    end
    if entry.leastMs then
      -- A second look in one decision is not earlier than the first.
      timeMs, entry.leastMs = math_max(timeMs, entry.leastMs), nil
    end
    if entry.holds then
      holding().returnExpired(rule, entry, timeMs)
    end
    if entry.state then
      -- Counted by other parameters, and fresh sooner by these: as that is used now, it is stored even by a refusal or a peek.
      local _, _, _, _, _, _, _, _, sooner = rule.step(entry.state, timeMs, 0, true)
      if sooner then
        entry.state, entry.changed, entry.counted = sooner, true, true
      end
    end
    return timeMs
  end

  -- Takes cost if rule and block allow it and it is to be taken. A refusal changes nothing.
  -- Answers allowed, remaining, nextAfterMs or else retryAfterMs, resetAfterMs, waitMs.
  local function judge(rule, entry, cost, nowMs, take, newHold)
    local timeMs = steady(rule, entry, nowMs)
    local blockedMs = entry.untilMs and math_max(0, entry.untilMs - nowMs) or 0
    local never = cost > rule.limit
    local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, state =
      rule.step(entry.state, timeMs, never and 0 or cost, false)
    local passes = retryAfterMs == 0
    local allowed = passes and not never and blockedMs == 0
    if allowed and take then
      if entry.holds then
        holding().clip(rule, entry, timeMs)
      end
      if newHold then
        holding().add(entry, holding().with(newHold, newHold.amount, timeMs, timeMs + newHold.holdMs))
      end
      if entry.blockAtMs then
        -- What passes proves that a block is over.
        entry.blockAtMs, entry.untilMs = nil, nil
      end
      entry.state, entry.changed, entry.counted = resetAfterMs > 0 and state or nil, true, true
    elseif passes then
      -- The step has counted a cost that is not taken after all: show the state as it stays.
      local _
      _, remaining, resetAfterMs, nextAfterMs = rule.step(entry.state, timeMs, 0, true)
    elseif entry.holds and not never then
      retryAfterMs = holding().passesAfter(rule, entry, timeMs, cost)
    end
    if entry.holds then
      resetAfterMs = holding().freshAfter(rule, entry, timeMs)
      if allowed and remaining < rule.limit then
        nextAfterMs = holding().passesAfter(rule, entry, timeMs, remaining + 1)
      end
    end
    -- Rules count from the key's own time; callers count from the clock's.
    local lagMs = timeMs - nowMs
    resetAfterMs = math_max(blockedMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs)
    entry.resetAfterMs, entry.timeMs = resetAfterMs, timeMs
    if allowed then
      return 1, remaining, nextAfterMs == 0 and 0 or nextAfterMs + lagMs, resetAfterMs, delayMs
    end
    retryAfterMs = never and -1 or math_max(blockedMs, passes and 0 or retryAfterMs + lagMs)
    return 0, blockedMs > 0 and 0 or remaining, retryAfterMs, resetAfterMs, blockedMs
  end

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
        local amount, unused = settled.amount, math_min(rest, settled.left)
        if used == 0 then
          unused = settled.left
        elseif settled.left > amount then
          -- After the limit was raised a hold counts for more than it reserved, and so does each request of it.
          unused = math_floor(rest * settled.left / amount)
        end
        adjust(rule, entry, -unused, nowMs, settled.takenMs)
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
        local _, _, resetAfterMs, _, _, released, amount = rule.step(entry.state, timeMs, -renewed.amount, true, takenMs)
        if (amount or 0) < renewed.amount then
          return false
        end
        _, _, _, _, _, entry.state = rule.step(resetAfterMs > 0 and released or nil, timeMs, renewed.amount, true)
        takenMs = timeMs
      end
      entry.holds = holding().map(entry.holds, function(hold)
        return hold == renewed and holding().with(hold, hold.left, takenMs, timeMs + holdMs) or hold
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
        firstMs = math_min(firstMs, other.untilMs - nowMs)
      end
      local allowed, remaining, laterMs, resetAfterMs, waitMs = judge(rule, entry, amount, nowMs, false)
      if allowed == 1 then
        return 0, remaining, firstMs, resetAfterMs, 0, true
      end
      return 0, remaining, laterMs < 0 and laterMs or math_max(firstMs, laterMs), resetAfterMs, waitMs, true
    end

    -- Takes a cost, for good or for a time. A refusal for want of room blocks the key, if it is to.
    local function take(rule, entry, request, nowMs, blockForMs)
      local allowed, remaining, retryAfterMs, resetAfterMs, waitMs, isCrowded
      local amount, id, holdMs = string.match(request, '^hold:(%d+):(%d+):(%d+)$')
      if amount then
        amount, id = whole('the amount of a hold', amount, 1), whole('the id of a hold', id, 1)
        holdMs = whole('the milliseconds of a hold', holdMs, 1, longestMs)
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
      local blockedMs = math_max(retryAfterMs, blockForMs)
      entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, nowMs + blockedMs
      entry.resetAfterMs = math_max(resetAfterMs, blockedMs)
      return 0, 0, blockedMs, entry.resetAfterMs, 0
    end

    local function answer(rule, entry, request, nowMs, isShadow)
      local asked, blockForMs = string.match(request, '^(.+):blockFor:(%d+)$')
      blockForMs = asked and whole('the milliseconds of a blockFor', blockForMs, 1, longestMs)
      asked = asked or request
      if tonumber(asked) or string.match(asked, '^hold:%d+:%d+:%d+$') then
        -- What is only watched blocks nobody.
        return take(rule, entry, asked, nowMs, not isShadow and blockForMs)
      end
      local operation, first, second = string.match(request, '^(%a+):(%d+):(%d+)$')
      local isFound
      if operation == 'giveBack' then
        local takenMs = whole('the time of a giveBack', second, 0)
        adjust(rule, entry, -whole('the amount of a giveBack', first, 1), nowMs, takenMs)
        return judge(rule, entry, 1, nowMs, false)
      elseif operation == 'settle' then
        local used = whole('the amount of a settle', second, 0)
        isFound = settle(rule, entry, whole('the id of a settle', first, 1), used, nowMs)
      elseif operation == 'renew' then
        local holdMs = whole('the milliseconds of a renew', second, 1, longestMs)
        isFound = renew(rule, entry, whole('the id of a renew', first, 1), holdMs, nowMs)
      else
        local short = 'a cost, peek:cost, charge:amount, giveBack:amount, hold:amount:id:milliseconds, settle:id:used, '
        local known = short .. 'renew:id:milliseconds, block:milliseconds, reblock:milliseconds, unblock or reset'
        error('sluice: a request is ' .. known .. ', got ' .. request, 0)
      end
      -- Where not even one passes, more than nothing passes when one does.
      local _, remaining, laterMs, resetAfterMs = judge(rule, entry, 1, nowMs, false)
      return isFound and 1 or 0, remaining, isFound and laterMs or -1, resetAfterMs, 0
    end

    askedFunctions = { answer = answer }
    return askedFunctions
  end

  -- Decides one request on one key: a cost, or a word with a number or none, or what asking() answers.
  local function decide(rule, entry, request, nowMs, isShadow)
    if tonumber(request) then
      return judge(rule, entry, whole('the cost', request, 1), nowMs, true)
    end
    local cost = 1
    local operation, amount = string.match(request, '^(%a+):(%d+)$')
    operation = operation or request
    if operation == 'peek' then
      cost = whole('the cost of a peek', amount or 1, 0)
    elseif operation == 'charge' then
      adjust(rule, entry, whole('the amount of a charge', amount or 1, 1), nowMs)
    elseif operation == 'giveBack' then
      adjust(rule, entry, -whole('the amount of a giveBack', amount or 1, 1), nowMs)
    elseif operation == 'block' or operation == 'reblock' then
      -- Ten calendar years at most.
      local untilMs = nowMs + whole('the milliseconds of a ' .. operation, amount, 1, 315619200000)
      entry.leastMs = steady(rule, entry, nowMs)
      -- A block only gets longer, unless it is to be another one.
      if operation == 'reblock' or untilMs >= (entry.untilMs or 0) then
        entry.changed, entry.blockAtMs, entry.untilMs = true, nowMs, untilMs
      end
    elseif request == 'unblock' then
      entry.changed, entry.blockAtMs, entry.untilMs = entry.changed or entry.blockAtMs ~= nil, nil, nil
    elseif request == 'reset' then
      entry.changed, entry.blockAtMs, entry.untilMs = entry.changed or entry.exists, nil, nil
      entry.state, entry.holds, entry.counted = nil, nil, true
    else
      return asking().answer(rule, entry, request, nowMs, isShadow)
    end
    return judge(rule, entry, cost, nowMs, false)
  end

  frameFunctions = { readEntry = readEntry, noteEntry = noteEntry, steady = steady, judge = judge, decide = decide, holding = holding, asking = asking }
  return frameFunctions
end

-- The values of all keys, with one call for all of them.
local function readKeys()
  if #KEYS == 1 then
    return { redis.call('GET', KEYS[1]) }
  elseif #KEYS < 1 or #KEYS > 1000 then
    error('sluice: one call decides 1 to 1000 keys, got ' .. #KEYS, 0)
  end
  local values, missing = redis.call('MGET', (table.unpack or unpack)(KEYS)), {}
  for index, key in ipairs(KEYS) do
    if not values[index] then
      missing[#missing + 1] = key
    end
  end
  -- MGET says of a list or a hash that it is missing, and SET would replace it.
  if #missing > 0 and redis.call('EXISTS', (table.unpack or unpack)(missing)) > 0 then
    error('sluice: a key holds something else than a state of this rule, and it was left as it is', 0)
  end
  return values
end

-- Engines on Lua 5.4 would answer 5.0 as a text.
local function whole64(reply)
  for index, number in ipairs(reply) do
    reply[index] = math.tointeger(number)
  end
  return reply
end

-- How often a request is made, the request, and its cost if it is no more than one that can pass: n*request is n times the same.
local function readRequest(text, limit)
  local times, request = 1, text
  local cost = tonumber(text)
  if not cost then
    local many, one = string.match(text, '^(%d+)%*(.+)$')
    if many then
      times, request = whole('the times of a request', many, 1, 1000), one
    end
    cost = tonumber(request)
  end
  local isPlain = cost and cost >= 1 and cost <= limit and cost % 1 == 0
  return times, request, isPlain and cost + 0.0 or nil
end

-- The numbers of the reply. A short one says of what is allowed at once only remaining, resetAfterMs and nextAfterMs, of anything else
-- -1 and all five; and when everything is allowed at once and both times are the same for all, it says -2, those times, and then only
-- what remains.
local reply, replied, commonMs, commonNextMs = {}, 0, nil, nil

-- The times are no longer common to all: from now on each has its own.
local function uncommon()
  local apart = {}
  for index = 4, replied do
    apart[3 * index - 11], apart[3 * index - 10], apart[3 * index - 9] = reply[index], commonMs, commonNextMs
  end
  reply, replied, commonMs = apart, 3 * replied - 9, nil
end

-- laterMs is nextAfterMs of what is allowed, and retryAfterMs of what is not.
local function answer(isShort, allowed, remaining, laterMs, resetAfterMs, waitMs)
  local isBrief = isShort and allowed == 1 and waitMs == 0
  if isBrief and resetAfterMs == commonMs and laterMs == commonNextMs then
    replied = replied + 1
    reply[replied] = remaining
    return
  elseif isBrief and replied == 0 then
    reply[1], reply[2], reply[3], reply[4] = -2, resetAfterMs, laterMs, remaining
    replied, commonMs, commonNextMs = 4, resetAfterMs, laterMs
    return
  elseif commonMs then
    uncommon()
  end
  if isBrief then
    reply[replied + 1], reply[replied + 2], reply[replied + 3] = remaining, resetAfterMs, laterMs
    replied = replied + 3
    return
  elseif isShort then
    replied = replied + 1
    reply[replied] = -1
  end
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = allowed, remaining, laterMs
  reply[replied + 4], reply[replied + 5] = resetAfterMs, waitMs
  replied = replied + 5
end

local firstRequest = 4
-- One for all keys, or one for each.
local forAll = string.match(ARGV[firstRequest] or '', '^=(.+)$')
local requests = forAll and 1 or #KEYS
local limit = whole('limit', ARGV[1], 1)
local windowMs = whole('windowMs', ARGV[2], 1)
local maxDebt = whole('maxDebt', ARGV[4 + requests] or limit, 0)
exactly('(limit + maxDebt) * windowMs', (limit + maxDebt) * windowMs)
local isShort = string.sub(ARGV[3] or '', 1, 6) == 'short:'
local nowMs, isServerTime = clock(isShort and string.sub(ARGV[3], 7) or ARGV[3])

local rule = {
  limit = limit,
  holds = 'dated',
  timeOf = function(state)
    return #state == 32 and timeOf(struct_unpack('<dddd', state))
  end,
  step = function(state, timeMs, cost, force, takenMs)
    return step(limit, windowMs, maxDebt, state, timeMs, cost, force, takenMs)
  end,
}

-- Most decisions: a cost that can pass, on a key that holds a state and nothing else. Does what the frame does, without it.
-- Answers allowed, remaining, nextAfterMs or else retryAfterMs, resetAfterMs, waitMs, the time by the key and, when the cost is taken, the next state
-- and whether that ends when the last one did; or nothing when the key needs the frame.
local function decidePlainly(rule, value, cost, nowMs)
  local timeMs = nowMs
  if value then
    local atMs = (#value == 32 and timeOf(struct_unpack('<dddd', value)))
    if not atMs or atMs - nowMs > 60000 then
      return nil
    end
    timeMs = math_max(nowMs, atMs)
  end
  local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, state, _, keeps, sooner =
    step(limit, windowMs, maxDebt, value or nil, timeMs, cost, false)
  if sooner then
    return nil
  end
  local lagMs = timeMs - nowMs
  if retryAfterMs > 0 then
    return 0, remaining, retryAfterMs + lagMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs, 0, timeMs
  end
  return 1,
    remaining,
    nextAfterMs == 0 and 0 or nextAfterMs + lagMs,
    resetAfterMs + lagMs,
    delayMs,
    timeMs,
    state,
    keeps
end

-- Reads each key once, decides in order, and then writes: when anything is wrong, nothing has been written.
local values, left = readKeys(), 1000
local asked, times, request, cost
for index = 1, #KEYS do
  local key = KEYS[index]
  local text = forAll or ARGV[firstRequest + index - 1] or '1'
  if text ~= asked then
    asked, times, request, cost = text, readRequest(text, rule.limit)
  end
  left = left - times
  if left < 0 then
    error('sluice: one call decides 1 to 1000 requests, got more', 0)
  end
  local value = slots[key] and notedValues[slots[key]]
  if value == nil then
    value = values[index]
  end
  local keptMs, keepsEnd = nil, true
  for _ = 1, times do
    local allowed, remaining, laterMs, resetAfterMs, waitMs, timeMs, state, keeps
    if cost then
      allowed, remaining, laterMs, resetAfterMs, waitMs, timeMs, state, keeps = decidePlainly(rule, value, cost, nowMs)
    end
    if state then
      value, keptMs, keepsEnd = state, resetAfterMs, keepsEnd and keeps
    elseif not allowed then
      local entry = frame().readEntry(rule.timeOf, value)
      allowed, remaining, laterMs, resetAfterMs, waitMs = frame().decide(rule, entry, request, nowMs)
      local noted = frame().noteEntry(key, entry, value)
      value, keptMs = noted, noted == value and keptMs or nil
    end
    answer(isShort, allowed, remaining, laterMs, resetAfterMs, waitMs)
  end
  if keptMs then
    note(key, value, keptMs, keepsEnd and isServerTime)
  end
end
writeAll(isServerTime)
return math.tointeger and whole64(reply) or reply

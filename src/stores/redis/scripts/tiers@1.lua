-- sluice tiers, version 1: one decision over several rules: what is taken is taken from all of them or from none.
--
-- KEYS[1..n]   what each tier's state of its subject is kept under; on a Cluster all in one slot
-- KEYS[n+1]    with an idMs, what the answer to this request is kept under
-- ARGV[1]      nowMs: time in milliseconds, whole number >= 0, or -1 for the server's, default -1
-- ARGV[2]      idMs: how long the same id gets the same reply, in milliseconds, whole number from 0 to 315619200000, default 0
-- ARGV[3..]    for each tier the name of a rule, its parameters in the order below, - for a default, and a request
--              concurrency limit leaseMs maxDebt request
--              fixed-window limit windowMs anchor maxDebt request
--              leaky-bucket capacity leak periodMs mode maxWaitMs maxDebt request
--              sliding-log limit windowMs maxDebt request
--              sliding-window limit windowMs maxDebt request
--              strict-window limit windowMs slices maxDebt request
--              token-bucket capacity refill periodMs maxDebt request
-- request      of each tier a cost, whole number >= 1, or peek:cost, charge:amount, giveBack:amount[:takenMs], hold:amount:id:milliseconds, settle:id:used, renew:id:milliseconds, block:milliseconds, unblock, reset; after a cost or hold :blockFor:milliseconds
-- shadow:      before a request: the tier counts what passes, and never refuses
-- changing:    before all of that: the parameters may change, and the state says by which ones it was counted
-- d*           instead of idMs: the keys are those of d decisions over the same tiers, and the requests of the second and all later ones come after the tiers
-- returns      for each tier five integers: allowed 0|1, remaining, retryAfterMs (-1: never; allowed: nextAfterMs, the time until more than remaining would pass), resetAfterMs, waitMs (allowed: before going on; refused: left of a block); and at last for each tier the time of its decision

local math_ceil, math_floor, math_max, math_min, struct_pack, struct_unpack = math.ceil, math.floor, math.max, math.min, struct.pack, struct.unpack

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

-- Most decisions: a cost that can pass, on a key that holds a state and nothing else. Does what the frame does, without it.
-- Answers allowed, remaining, nextAfterMs or else retryAfterMs, resetAfterMs, waitMs, the time by the key and, when the cost is taken, the next state
-- and whether that ends when the last one did; or nothing when the key needs the frame.
local function decidePlainly(rule, value, cost, nowMs)
  local timeMs = nowMs
  if value then
    local atMs = rule.timeOf(value)
    if not atMs or atMs - nowMs > 60000 then
      return nil
    end
    timeMs = math_max(nowMs, atMs)
  end
  local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, state, _, keeps, sooner =
    rule.step(value or nil, timeMs, cost, false)
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

local function open(text)
  return text ~= '-' and text or nil
end

local function ruleOf(name, args, at)
  if name == 'concurrency' then
    -- A timeline is its newest time, its total, how long each cost counts, and pairs of time and cost, oldest first: 24 bytes, and 16 for
    -- each pair.

    -- Its own time, or nothing when it cannot be a timeline. To read all pairs would take longer than to decide: those are judged
    -- when they are read.
    local function timeOf(line)
      local atMs, total, spanMs = struct_unpack('<ddd', line)
      local newestMs, newest = struct_unpack('<dd', line, #line - 15)
      -- Before 1970 it can be by a clock that was set back.
      local isTime = newestMs == atMs and atMs % 1 == 0 and atMs >= -EXACT and atMs <= EXACT
      local isSpan = spanMs % 1 == 0 and spanMs >= 1 and spanMs <= EXACT
      local isWhole = newest % 1 == 0 and newest >= 1 and total % 1 == 0 and total <= 2 * EXACT
      return isTime and isSpan and isWhole and (newest == total or (newest < total and #line > 40)) and atMs
    end

    -- The pair at line[at..], which is later than afterMs and not later than latestMs.
    local function pairAt(line, at, afterMs, latestMs)
      local timeMs, cost = 0, 0
      if at > 24 and at < #line then
        timeMs, cost = struct_unpack('<dd', line, at)
      end
      local isLater = timeMs % 1 == 0 and timeMs > afterMs and timeMs <= latestMs
      if not (isLater and cost % 1 == 0 and cost >= 1 and cost <= EXACT) then
        error(FOREIGN, 0)
      end
      return timeMs, cost
    end

    -- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
    local function movedBack(line, backMs)
      local atMs, total, madeMs = struct_unpack('<ddd', line)
      local moved, timeMs, cost = { struct_pack('<ddd', atMs - backMs, total, madeMs) }, -EXACT, nil
      for at = 25, #line, 16 do
        timeMs, cost = pairAt(line, at, timeMs, atMs)
        moved[#moved + 1] = struct_pack('<dd', timeMs - backMs, cost)
      end
      return table.concat(moved)
    end

    -- The pairs in line[from..] after giving back amount, which is less than their total. The newest of them is of atMs.
    local function withoutNewest(line, from, amount, atMs)
      local at = #line - 15
      local timeMs, cost = pairAt(line, at, -EXACT, atMs)
      while cost <= amount do
        amount = amount - cost
        at = at - 16
        timeMs, cost = pairAt(line, at, -EXACT, timeMs - 1)
      end
      return line:sub(from, at - 1) .. struct_pack('<dd', timeMs, cost - amount)
    end

    local function withoutOldest(line, from, amount, atMs)
      local timeMs, cost = pairAt(line, from, -EXACT, atMs)
      while cost <= amount do
        amount = amount - cost
        from = from + 16
        timeMs, cost = pairAt(line, from, timeMs, atMs)
      end
      return struct_pack('<dd', timeMs, cost - amount) .. line:sub(from + 16)
    end

    -- The pairs in line[from..] after giving back up to amount of what was taken at takenMs, and how much that was. Times only rise.
    local function withoutTaken(line, from, amount, takenMs, atMs)
      local first, last = from, #line - 15
      while first <= last do
        local at = first + 16 * math_floor((last - first) / 32)
        local timeMs, cost = pairAt(line, at, -EXACT, atMs)
        if timeMs == takenMs then
          local kept = cost > amount and struct_pack('<dd', timeMs, cost - amount) or ''
          return line:sub(from, at - 1) .. kept .. line:sub(at + 16), math_min(amount, cost)
        elseif timeMs < takenMs then
          first = at + 16
        else
          last = at - 16
        end
      end
      return line:sub(from), 0
    end

    -- What still counts: the line, its newest time, its total, where its first pair is, and how long each counts. What another span has
    -- counted leaves when the shorter of the two says so.
    local function since(state, nowMs, ownMs)
      local line, from = state, 25
      local atMs, total, madeMs = struct_unpack('<ddd', line)
      local spanMs = math_min(madeMs, ownMs)
      if atMs > nowMs then
        line, atMs = movedBack(line, atMs - nowMs), nowMs
      end
      local timeMs, taken = -EXACT, nil
      while from < #line do
        timeMs, taken = pairAt(line, from, timeMs, atMs)
        if timeMs > nowMs - spanMs then
          break
        end
        total = total - taken
        from = from + 16
      end
      -- Each pair counts at least once, and without pairs nothing counts.
      if total < (#line + 1 - from) / 16 or (from > #line and total > 0) then
        error(FOREIGN, 0)
      end
      return line, atMs, total, from, spanMs
    end

    -- The time of the pair with which at least amount has left, oldest first.
    local function timeFreeing(line, from, amount, atMs)
      local timeMs, freed = pairAt(line, from, -EXACT, atMs)
      while freed < amount do
        local taken
        from = from + 16
        timeMs, taken = pairAt(line, from, timeMs, atMs)
        freed = freed + taken
      end
      return timeMs
    end

    -- One step of a rule that counts what was taken within the last ownMs, exactly. Something new makes all of a line count for that long.
    local function stepTimeline(limit, ownMs, maxDebt, without, state, nowMs, cost, force, takenMs)
      local line, atMs, total, from, spanMs = '', nowMs, 0, 25, ownMs
      if state then
        line, atMs, total, from, spanMs = since(state, nowMs, ownMs)
      end
      if not force and total + cost > limit then
        local retryAfterMs = timeFreeing(line, from, cost - (limit - total), atMs) + spanMs - nowMs
        return retryAfterMs, math_max(0, limit - total), total == 0 and 0 or atMs + spanMs - nowMs, 0, 0
      end

      local before, returned = total, 0
      local pairsLeft, added = nil, ''
      if cost < 0 and takenMs then
        pairsLeft, returned = withoutTaken(line, from, -cost, takenMs, atMs)
      elseif cost < 0 then
        returned = math_min(-cost, total)
        pairsLeft = returned < total and without(line, from, returned, atMs)
      end
      total = cost < 0 and total - returned or addBounded(total, cost, limit + maxDebt)
      spanMs = total > before and ownMs or spanMs
      if total == 0 then
        return 0, limit, 0, 0, 0, nil, returned
      elseif cost < 0 then
        if total < #pairsLeft / 16 or pairsLeft == '' then
          error(FOREIGN, 0)
        end
        atMs = struct_unpack('<d', pairsLeft, #pairsLeft - 15)
      elseif total == before then
        pairsLeft = line:sub(from)
      elseif before > 0 and atMs == nowMs then
        local newest = struct_unpack('<d', line, #line - 7)
        pairsLeft, added = line:sub(from, -9), struct_pack('<d', newest + (total - before))
      else
        pairsLeft, added = line:sub(from), struct_pack('<dd', nowMs, total - before)
        atMs = nowMs
      end
      -- Joined at once: Redis hashes every byte of every string that a script makes.
      local next = struct_pack('<ddd', atMs, total, spanMs) .. pairsLeft .. added
      local nextAfterMs = timeFreeing(next, 25, math_max(1, total - limit + 1), atMs) + spanMs - nowMs
      return 0, math_max(0, limit - total), atMs + spanMs - nowMs, nextAfterMs, 0, next, returned
    end

    local function step(limit, leaseMs, maxDebt, state, nowMs, cost, force, takenMs)
      return stepTimeline(limit, leaseMs, maxDebt, withoutOldest, state, nowMs, cost, force, takenMs)
    end

    local limit = whole('limit', args[at + 0], 1)
    local leaseMs = whole('leaseMs', args[at + 1], 1)
    local maxDebt = whole('maxDebt', open(args[at + 2]) or limit, 0)
    return {
      name = 'concurrency',
      size = 3,
      limit = limit,
      holds = 'leased',
      timeOf = function(state)
        return #state >= 40 and #state % 16 == 8 and timeOf(state)
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(limit, leaseMs, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'fixed-window' then
    local function timeOf(atMs, count, windowMs)
      local isWhole = atMs % 1 == 0 and count % 1 == 0 and windowMs % 1 == 0
      local isCounted = atMs >= 0 and atMs <= EXACT and count >= 0 and count <= 2 * EXACT
      return isWhole and isCounted and windowMs >= 1 and windowMs <= EXACT and atMs
    end

    local function step(limit, windowMs, anchor, maxDebt, state, nowMs, cost, force, takenMs)
      local atMs, count, live, keeps = nil, 0, false, false
      if state then
        local madeMs
        atMs, count, madeMs = struct_unpack('<ddd', state)
        live = nowMs < atMs + madeMs
        count = live and count or 0
        if madeMs ~= windowMs then
          local function theirs(...)
            return step(limit, madeMs, anchor, maxDebt, ...)
          end
          local function mine(...)
            return step(limit, windowMs, anchor, maxDebt, ...)
          end
          local _, recounted
          if count > 0 then
            _, _, _, _, _, recounted = mine(nil, nowMs, count, true)
          end
          return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
        end
        keeps = live and nowMs >= atMs
      end
      if not live or nowMs < atMs then
        atMs = anchor == 'clock' and nowMs - nowMs % windowMs or nowMs
      end
      local leftMs = atMs + windowMs - nowMs
      if not force and count + cost > limit then
        return leftMs, math_max(0, limit - count), live and leftMs or 0, 0, 0
      end
      local before = count
      -- What was taken in an earlier window has left with it.
      if not (cost < 0 and takenMs and takenMs < atMs) then
        count = addBounded(count, cost, limit + maxDebt)
      end
      -- A window whose count was given back stays open: it must not restart before its end.
      local resetAfterMs = (live or count > 0) and leftMs or 0
      local returned = cost < 0 and before - count or 0
      local next = struct_pack('<ddd', atMs, count, windowMs)
      return 0, math_max(0, limit - count), resetAfterMs, count > 0 and leftMs or 0, 0, next, returned, keeps
    end

    local limit = whole('limit', args[at + 0], 1)
    local windowMs = whole('windowMs', args[at + 1], 1)
    local anchor = choice('anchor', open(args[at + 2]) or 'clock', 'clock', 'first-hit')
    local maxDebt = whole('maxDebt', open(args[at + 3]) or limit, 0)
    return {
      name = 'fixed-window',
      size = 4,
      limit = limit,
      holds = 'dated',
      timeOf = function(state)
        return #state == 24 and timeOf(struct_unpack('<ddd', state))
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(limit, windowMs, anchor, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'leaky-bucket' then
    -- A level is a time, what is used of a bucket then in units of request * millisecond, the period of those units, and the rate: how many
    -- requests come back in every period.

    -- Its time, or nothing when it cannot be a level.
    local function timeOfLevel(atMs, used, periodMs, rate)
      local isTime = atMs % 1 == 0 and atMs >= 0 and atMs <= EXACT
      local isUsed = used % 1 == 0 and used >= 0 and used <= EXACT
      local isPeriod = periodMs % 1 == 0 and periodMs >= 1 and periodMs <= EXACT
      return isTime and isUsed and isPeriod and rate % 1 == 0 and rate >= 1 and rate <= EXACT and atMs
    end

    -- One step of a bucket; with maxWaitMs it queues. isTheirs when the period and the rate are those of the level.
    local function stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, isTheirs, state, nowMs, cost, force)
      local used, most = 0, (capacity + maxDebt) * periodMs
      if state then
        local atMs, stateUsed, madeMs, madeRate = struct_unpack('<dddd', state)
        -- Coming back for no longer than until nothing is used keeps the product exact after any absence.
        local backMs = math_min(math_max(0, nowMs - atMs), math_ceil(stateUsed / madeRate))
        used = math_max(0, stateUsed - madeRate * backMs)
        if not isTheirs and (madeMs ~= periodMs or madeRate ~= rate or stateUsed > most) then
          local function theirs(...)
            return stepLevel(capacity, madeRate, madeMs, maxDebt, maxWaitMs, true, ...)
          end
          local function mine(...)
            return stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, true, ...)
          end
          -- Whole requests are exact. A part of one is rounded up, to no more than a whole one.
          local whole = math_floor(used / madeMs)
          local part = math_min(periodMs, math_ceil((used - whole * madeMs) * periodMs / madeMs))
          local recounted = struct_pack('<dddd', nowMs, math_min(most, whole * periodMs + part), periodMs, rate)
          return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force)
        end
      end
      local queueMs = maxWaitMs and math_ceil(used / rate) or 0
      local fullMs = math_ceil((used - (capacity - cost) * periodMs) / rate)
      local retryAfterMs = force and 0 or math_max(0, fullMs, queueMs - (maxWaitMs or 0))
      local next, returned
      if retryAfterMs == 0 then
        -- A part of a request is a whole number of units, which the division that made it has blurred.
        local units = cost % 1 == 0 and cost * periodMs or math_floor(cost * periodMs + 0.5)
        returned = cost < 0 and math_min(-cost, used / periodMs) or 0
        used = math_max(0, math_min(used + units, math_max(used, most)))
        next = struct_pack('<dddd', nowMs, used, periodMs, rate)
      end
      local remaining, resetAfterMs, nextAfterMs = capacity - math_ceil(used / periodMs), math_ceil(used / rate), 0
      if maxWaitMs then
        remaining = math_min(remaining, math_floor((maxWaitMs * rate - used) / periodMs) + 1)
        -- Longer only right after the rate has changed.
        queueMs = math_min(queueMs, maxWaitMs)
      end
      remaining = math_max(0, remaining)
      if used > 0 then
        local moreMs = math_ceil((used - (capacity - remaining - 1) * periodMs) / rate)
        nextAfterMs = math_max(0, moreMs, maxWaitMs and resetAfterMs - maxWaitMs or 0)
      end
      return retryAfterMs, remaining, resetAfterMs, nextAfterMs, queueMs, next, returned
    end

    local function step(capacity, leak, periodMs, mode, maxWaitMs, maxDebt, state, nowMs, cost, force, takenMs)
      local waitMs = mode == 'shape' and maxWaitMs or nil
      return stepLevel(capacity, leak, periodMs, maxDebt, waitMs, false, state, nowMs, cost, force)
    end

    local capacity = whole('capacity', args[at + 0], 1)
    local leak = whole('leak', args[at + 1], 1)
    local periodMs = whole('periodMs', args[at + 2], 1)
    local mode = choice('mode', open(args[at + 3]) or 'police', 'police', 'shape')
    local maxWaitMs = whole('maxWaitMs', open(args[at + 4]) or math_ceil(capacity * periodMs / leak), 0)
    local maxDebt = whole('maxDebt', open(args[at + 5]) or capacity, 0)
    exactly('(capacity + maxDebt) * periodMs', (capacity + maxDebt) * periodMs)
    return {
      name = 'leaky-bucket',
      size = 6,
      limit = capacity,
      holds = 'pooled',
      timeOf = function(state)
        return #state == 32 and timeOfLevel(struct_unpack('<dddd', state))
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(capacity, leak, periodMs, mode, maxWaitMs, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'sliding-log' then
    -- A timeline is its newest time, its total, how long each cost counts, and pairs of time and cost, oldest first: 24 bytes, and 16 for
    -- each pair.

    -- Its own time, or nothing when it cannot be a timeline. To read all pairs would take longer than to decide: those are judged
    -- when they are read.
    local function timeOf(line)
      local atMs, total, spanMs = struct_unpack('<ddd', line)
      local newestMs, newest = struct_unpack('<dd', line, #line - 15)
      -- Before 1970 it can be by a clock that was set back.
      local isTime = newestMs == atMs and atMs % 1 == 0 and atMs >= -EXACT and atMs <= EXACT
      local isSpan = spanMs % 1 == 0 and spanMs >= 1 and spanMs <= EXACT
      local isWhole = newest % 1 == 0 and newest >= 1 and total % 1 == 0 and total <= 2 * EXACT
      return isTime and isSpan and isWhole and (newest == total or (newest < total and #line > 40)) and atMs
    end

    -- The pair at line[at..], which is later than afterMs and not later than latestMs.
    local function pairAt(line, at, afterMs, latestMs)
      local timeMs, cost = 0, 0
      if at > 24 and at < #line then
        timeMs, cost = struct_unpack('<dd', line, at)
      end
      local isLater = timeMs % 1 == 0 and timeMs > afterMs and timeMs <= latestMs
      if not (isLater and cost % 1 == 0 and cost >= 1 and cost <= EXACT) then
        error(FOREIGN, 0)
      end
      return timeMs, cost
    end

    -- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
    local function movedBack(line, backMs)
      local atMs, total, madeMs = struct_unpack('<ddd', line)
      local moved, timeMs, cost = { struct_pack('<ddd', atMs - backMs, total, madeMs) }, -EXACT, nil
      for at = 25, #line, 16 do
        timeMs, cost = pairAt(line, at, timeMs, atMs)
        moved[#moved + 1] = struct_pack('<dd', timeMs - backMs, cost)
      end
      return table.concat(moved)
    end

    -- The pairs in line[from..] after giving back amount, which is less than their total. The newest of them is of atMs.
    local function withoutNewest(line, from, amount, atMs)
      local at = #line - 15
      local timeMs, cost = pairAt(line, at, -EXACT, atMs)
      while cost <= amount do
        amount = amount - cost
        at = at - 16
        timeMs, cost = pairAt(line, at, -EXACT, timeMs - 1)
      end
      return line:sub(from, at - 1) .. struct_pack('<dd', timeMs, cost - amount)
    end

    local function withoutOldest(line, from, amount, atMs)
      local timeMs, cost = pairAt(line, from, -EXACT, atMs)
      while cost <= amount do
        amount = amount - cost
        from = from + 16
        timeMs, cost = pairAt(line, from, timeMs, atMs)
      end
      return struct_pack('<dd', timeMs, cost - amount) .. line:sub(from + 16)
    end

    -- The pairs in line[from..] after giving back up to amount of what was taken at takenMs, and how much that was. Times only rise.
    local function withoutTaken(line, from, amount, takenMs, atMs)
      local first, last = from, #line - 15
      while first <= last do
        local at = first + 16 * math_floor((last - first) / 32)
        local timeMs, cost = pairAt(line, at, -EXACT, atMs)
        if timeMs == takenMs then
          local kept = cost > amount and struct_pack('<dd', timeMs, cost - amount) or ''
          return line:sub(from, at - 1) .. kept .. line:sub(at + 16), math_min(amount, cost)
        elseif timeMs < takenMs then
          first = at + 16
        else
          last = at - 16
        end
      end
      return line:sub(from), 0
    end

    -- What still counts: the line, its newest time, its total, where its first pair is, and how long each counts. What another span has
    -- counted leaves when the shorter of the two says so.
    local function since(state, nowMs, ownMs)
      local line, from = state, 25
      local atMs, total, madeMs = struct_unpack('<ddd', line)
      local spanMs = math_min(madeMs, ownMs)
      if atMs > nowMs then
        line, atMs = movedBack(line, atMs - nowMs), nowMs
      end
      local timeMs, taken = -EXACT, nil
      while from < #line do
        timeMs, taken = pairAt(line, from, timeMs, atMs)
        if timeMs > nowMs - spanMs then
          break
        end
        total = total - taken
        from = from + 16
      end
      -- Each pair counts at least once, and without pairs nothing counts.
      if total < (#line + 1 - from) / 16 or (from > #line and total > 0) then
        error(FOREIGN, 0)
      end
      return line, atMs, total, from, spanMs
    end

    -- The time of the pair with which at least amount has left, oldest first.
    local function timeFreeing(line, from, amount, atMs)
      local timeMs, freed = pairAt(line, from, -EXACT, atMs)
      while freed < amount do
        local taken
        from = from + 16
        timeMs, taken = pairAt(line, from, timeMs, atMs)
        freed = freed + taken
      end
      return timeMs
    end

    -- One step of a rule that counts what was taken within the last ownMs, exactly. Something new makes all of a line count for that long.
    local function stepTimeline(limit, ownMs, maxDebt, without, state, nowMs, cost, force, takenMs)
      local line, atMs, total, from, spanMs = '', nowMs, 0, 25, ownMs
      if state then
        line, atMs, total, from, spanMs = since(state, nowMs, ownMs)
      end
      if not force and total + cost > limit then
        local retryAfterMs = timeFreeing(line, from, cost - (limit - total), atMs) + spanMs - nowMs
        return retryAfterMs, math_max(0, limit - total), total == 0 and 0 or atMs + spanMs - nowMs, 0, 0
      end

      local before, returned = total, 0
      local pairsLeft, added = nil, ''
      if cost < 0 and takenMs then
        pairsLeft, returned = withoutTaken(line, from, -cost, takenMs, atMs)
      elseif cost < 0 then
        returned = math_min(-cost, total)
        pairsLeft = returned < total and without(line, from, returned, atMs)
      end
      total = cost < 0 and total - returned or addBounded(total, cost, limit + maxDebt)
      spanMs = total > before and ownMs or spanMs
      if total == 0 then
        return 0, limit, 0, 0, 0, nil, returned
      elseif cost < 0 then
        if total < #pairsLeft / 16 or pairsLeft == '' then
          error(FOREIGN, 0)
        end
        atMs = struct_unpack('<d', pairsLeft, #pairsLeft - 15)
      elseif total == before then
        pairsLeft = line:sub(from)
      elseif before > 0 and atMs == nowMs then
        local newest = struct_unpack('<d', line, #line - 7)
        pairsLeft, added = line:sub(from, -9), struct_pack('<d', newest + (total - before))
      else
        pairsLeft, added = line:sub(from), struct_pack('<dd', nowMs, total - before)
        atMs = nowMs
      end
      -- Joined at once: Redis hashes every byte of every string that a script makes.
      local next = struct_pack('<ddd', atMs, total, spanMs) .. pairsLeft .. added
      local nextAfterMs = timeFreeing(next, 25, math_max(1, total - limit + 1), atMs) + spanMs - nowMs
      return 0, math_max(0, limit - total), atMs + spanMs - nowMs, nextAfterMs, 0, next, returned
    end

    local function step(limit, windowMs, maxDebt, state, nowMs, cost, force, takenMs)
      return stepTimeline(limit, windowMs, maxDebt, withoutNewest, state, nowMs, cost, force, takenMs)
    end

    local limit = whole('limit', args[at + 0], 1)
    local windowMs = whole('windowMs', args[at + 1], 1)
    local maxDebt = whole('maxDebt', open(args[at + 2]) or limit, 0)
    return {
      name = 'sliding-log',
      size = 3,
      limit = limit,
      holds = 'dated',
      timeOf = function(state)
        return #state >= 40 and #state % 16 == 8 and timeOf(state)
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(limit, windowMs, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'sliding-window' then
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

    local limit = whole('limit', args[at + 0], 1)
    local windowMs = whole('windowMs', args[at + 1], 1)
    local maxDebt = whole('maxDebt', open(args[at + 2]) or limit, 0)
    exactly('(limit + maxDebt) * windowMs', (limit + maxDebt) * windowMs)
    return {
      name = 'sliding-window',
      size = 3,
      limit = limit,
      holds = 'dated',
      timeOf = function(state)
        return #state == 32 and timeOf(struct_unpack('<dddd', state))
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(limit, windowMs, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'strict-window' then
    local function timeOf(atMs, minusSliceMs, slices)
      local isTime = atMs % 1 == 0 and atMs >= 0 and atMs <= EXACT
      -- No count is below zero: so a state that was cut off cannot pass for one of fewer slices.
      return isTime and minusSliceMs % 1 == 0 and minusSliceMs <= -1 and minusSliceMs * slices >= -EXACT and atMs
    end

    local function liveCounts(state, atMs, live, sliceMs)
      local counts, passed, used = {}, live, 0
      if state then
        counts = { struct_unpack('<' .. string.rep('d', live), state, 9) }
        passed = math_max(0, math_floor((atMs - (struct_unpack('<d', state))) / sliceMs + 0.5))
      end
      for slice = 1, live do
        if passed > 0 then
          counts[slice] = slice + passed <= live and counts[slice + passed] or 0
        end
        local count = counts[slice]
        if not (count % 1 == 0 and count >= 0 and count <= 2 * EXACT) then
          error(FOREIGN, 0)
        end
        used = used + count
      end
      return counts, used
    end

    -- Takes up to amount from the slices between newest and oldest, newest first, and answers how much that was.
    local function giveBack(counts, amount, newest, oldest)
      local slice, left = newest, amount
      while slice >= math_max(1, oldest) and left > 0 do
        local removed = math_min(left, counts[slice])
        counts[slice] = counts[slice] - removed
        left = left - removed
        slice = slice - 1
      end
      return amount - left
    end

    local function step(limit, windowMs, slices, maxDebt, state, nowMs, cost, force, takenMs)
      local sliceMs = math_ceil(windowMs / slices)
      local madeMs = state and -struct_unpack('<d', state, #state - 7) or sliceMs
      local madeSlices = state and #state / 8 - 3 or slices
      if madeMs ~= sliceMs or madeSlices ~= slices then
        local function theirs(...)
          return step(limit, madeMs * madeSlices, madeSlices, maxDebt, ...)
        end
        local function mine(...)
          return step(limit, windowMs, slices, maxDebt, ...)
        end
        -- Where nearly everything fits, what does not remain is used, debt included.
        local _, remaining = step(EXACT, madeMs * madeSlices, madeSlices, maxDebt, state, nowMs, 0, true)
        local recounted
        if remaining < EXACT then
          _, _, _, _, _, recounted = mine(nil, nowMs, EXACT - remaining, true)
        end
        return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
      end
      local atMs, live = nowMs - nowMs % sliceMs, slices + 1
      local counts, used = liveCounts(state, atMs, live, sliceMs)

      -- How many slices, from the start of the newest, until at least amount has left, oldest first.
      local function msUntilFree(amount)
        local slice, freed = 1, counts[1]
        while freed < amount and slice < live do
          slice = slice + 1
          freed = freed + counts[slice]
        end
        return atMs + slice * sliceMs - nowMs
      end

      -- The same for all that is used, from the other end: mostly the newest slice is not empty.
      local function msUntilEmpty()
        local slice = live
        while slice > 0 and counts[slice] == 0 do
          slice = slice - 1
        end
        return slice == 0 and 0 or atMs + slice * sliceMs - nowMs
      end

      if not force and used + cost > limit then
        return msUntilFree(cost - (limit - used)), math_max(0, limit - used), msUntilEmpty(), 0, 0
      end
      local returned = 0
      if cost < 0 then
        local only = takenMs and live - math_max(0, (atMs - (takenMs - takenMs % sliceMs)) / sliceMs)
        returned = giveBack(counts, -cost, only or live, only or 1)
        used = used - returned
      else
        local total = addBounded(used, cost, limit + maxDebt)
        counts[live] = counts[live] + (total - used)
        used = total
      end
      counts[live + 1] = -sliceMs
      local next = struct_pack('<d' .. string.rep('d', live + 1), atMs, (table.unpack or unpack)(counts, 1, live + 1))
      local nextAfterMs = used > 0 and msUntilFree(math_max(1, used - limit + 1)) or 0
      return 0, math_max(0, limit - used), msUntilEmpty(), nextAfterMs, 0, next, returned
    end

    local limit = whole('limit', args[at + 0], 1)
    local windowMs = whole('windowMs', args[at + 1], 1)
    local slices = whole('slices', open(args[at + 2]) or math_min(10, windowMs), 1, 1000)
    local maxDebt = whole('maxDebt', open(args[at + 3]) or limit, 0)
    return {
      name = 'strict-window',
      size = 4,
      limit = limit,
      holds = 'dated',
      timeOf = function(state)
        return #state >= 32 and #state <= 8024 and #state % 8 == 0 and timeOf(struct_unpack('<d', state), struct_unpack('<d', state, #state - 7), #state / 8 - 3)
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(limit, windowMs, slices, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  elseif name == 'token-bucket' then
    -- A level is a time, what is used of a bucket then in units of request * millisecond, the period of those units, and the rate: how many
    -- requests come back in every period.

    -- Its time, or nothing when it cannot be a level.
    local function timeOfLevel(atMs, used, periodMs, rate)
      local isTime = atMs % 1 == 0 and atMs >= 0 and atMs <= EXACT
      local isUsed = used % 1 == 0 and used >= 0 and used <= EXACT
      local isPeriod = periodMs % 1 == 0 and periodMs >= 1 and periodMs <= EXACT
      return isTime and isUsed and isPeriod and rate % 1 == 0 and rate >= 1 and rate <= EXACT and atMs
    end

    -- One step of a bucket; with maxWaitMs it queues. isTheirs when the period and the rate are those of the level.
    local function stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, isTheirs, state, nowMs, cost, force)
      local used, most = 0, (capacity + maxDebt) * periodMs
      if state then
        local atMs, stateUsed, madeMs, madeRate = struct_unpack('<dddd', state)
        -- Coming back for no longer than until nothing is used keeps the product exact after any absence.
        local backMs = math_min(math_max(0, nowMs - atMs), math_ceil(stateUsed / madeRate))
        used = math_max(0, stateUsed - madeRate * backMs)
        if not isTheirs and (madeMs ~= periodMs or madeRate ~= rate or stateUsed > most) then
          local function theirs(...)
            return stepLevel(capacity, madeRate, madeMs, maxDebt, maxWaitMs, true, ...)
          end
          local function mine(...)
            return stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, true, ...)
          end
          -- Whole requests are exact. A part of one is rounded up, to no more than a whole one.
          local whole = math_floor(used / madeMs)
          local part = math_min(periodMs, math_ceil((used - whole * madeMs) * periodMs / madeMs))
          local recounted = struct_pack('<dddd', nowMs, math_min(most, whole * periodMs + part), periodMs, rate)
          return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force)
        end
      end
      local queueMs = maxWaitMs and math_ceil(used / rate) or 0
      local fullMs = math_ceil((used - (capacity - cost) * periodMs) / rate)
      local retryAfterMs = force and 0 or math_max(0, fullMs, queueMs - (maxWaitMs or 0))
      local next, returned
      if retryAfterMs == 0 then
        -- A part of a request is a whole number of units, which the division that made it has blurred.
        local units = cost % 1 == 0 and cost * periodMs or math_floor(cost * periodMs + 0.5)
        returned = cost < 0 and math_min(-cost, used / periodMs) or 0
        used = math_max(0, math_min(used + units, math_max(used, most)))
        next = struct_pack('<dddd', nowMs, used, periodMs, rate)
      end
      local remaining, resetAfterMs, nextAfterMs = capacity - math_ceil(used / periodMs), math_ceil(used / rate), 0
      if maxWaitMs then
        remaining = math_min(remaining, math_floor((maxWaitMs * rate - used) / periodMs) + 1)
        -- Longer only right after the rate has changed.
        queueMs = math_min(queueMs, maxWaitMs)
      end
      remaining = math_max(0, remaining)
      if used > 0 then
        local moreMs = math_ceil((used - (capacity - remaining - 1) * periodMs) / rate)
        nextAfterMs = math_max(0, moreMs, maxWaitMs and resetAfterMs - maxWaitMs or 0)
      end
      return retryAfterMs, remaining, resetAfterMs, nextAfterMs, queueMs, next, returned
    end

    local function step(capacity, refill, periodMs, maxDebt, state, nowMs, cost, force, takenMs)
      return stepLevel(capacity, refill, periodMs, maxDebt, nil, false, state, nowMs, cost, force)
    end

    local capacity = whole('capacity', args[at + 0], 1)
    local refill = whole('refill', args[at + 1], 1)
    local periodMs = whole('periodMs', args[at + 2], 1)
    local maxDebt = whole('maxDebt', open(args[at + 3]) or capacity, 0)
    exactly('(capacity + maxDebt) * periodMs', (capacity + maxDebt) * periodMs)
    return {
      name = 'token-bucket',
      size = 4,
      limit = capacity,
      holds = 'pooled',
      timeOf = function(state)
        return #state == 32 and timeOfLevel(struct_unpack('<dddd', state))
      end,
      step = function(state, timeMs, cost, force, takenMs)
        return step(capacity, refill, periodMs, maxDebt, state, timeMs, cost, force, takenMs)
      end,
    }
  end
  local known = 'concurrency, fixed-window, leaky-bucket, sliding-log, sliding-window, strict-window, token-bucket'
  return error('sluice: a rule is ' .. known .. ', got ' .. tostring(name), 0)
end

-- An entry whose rule may change starts with the rule that it was counted by: -0.5, the length of its text, and the text. With
-- -0.25 the rule was only taken over by a refusal, and nothing has been counted by it yet.
local function readChanging(rule, ruleText, value, nowMs)
  -- What is used of the limit.
  local function usedOf(maker, state, timeMs)
    local _, remaining, used
    if maker.holds ~= 'pooled' then
      _, remaining = maker.step(state, timeMs, 0, true)
      return maker.limit - remaining
    end
    -- A rule that shapes has less remaining than is free: what could be given back tells.
    _, _, _, _, _, _, used = maker.step(state, timeMs, -EXACT, true)
    return used
  end

  -- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change
  -- is a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
  local function recount(maker, entry)
    local timeMs, state = frame().steady(maker, entry, nowMs), entry.state
    entry.leastMs = timeMs
    local _, resetAfterMs, next
    if rule.holds == 'leased' then
      -- A place is a place, whatever the limit.
      _, _, resetAfterMs, _, _, next = maker.step(state, timeMs, 0, true)
      entry.state = resetAfterMs > 0 and next or nil
      return
    end
    local used = state and math_ceil(usedOf(maker, state, timeMs) * rule.limit / maker.limit) or 0
    _, _, resetAfterMs, _, _, next = rule.step(nil, timeMs, used, true)
    entry.state = resetAfterMs > 0 and next or nil
    entry.holds = entry.holds
      and frame().holding().map(entry.holds, function(hold)
        -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
        local _, _, _, _, _, _, returned = maker.step(state, timeMs, -hold.left, true, hold.takenMs)
        return frame()
          .holding()
          .with(hold, math_floor((returned or 0) * rule.limit / maker.limit), timeMs, hold.untilMs)
      end)
  end

  local function stampOf(mark)
    return struct_pack('<dd', mark, #ruleText) .. ruleText
  end

  local madeStamp, maker, mark = nil, rule, value and #value >= 16 and struct_unpack('<d', value)
  if mark == -0.5 or mark == -0.25 then
    local length = struct_unpack('<d', value, 9)
    local words, size = {}, length >= 0 and length <= #value - 16 and length % 1 == 0 and length or 0
    madeStamp, value = value:sub(1, 16 + size), value:sub(17 + size)
    for word in string.gmatch(madeStamp:sub(17), '%S+') do
      words[#words + 1] = word
    end
    local isRule = words[1] == rule.name and #words == 1 + rule.size
    if isRule and madeStamp:sub(17) ~= ruleText then
      isRule, maker = pcall(ruleOf, words[1], words, 2)
    end
    if not isRule then
      error(FOREIGN, 0)
    end
  end
  local entry = frame().readEntry(maker.timeOf, value)
  entry.stamp = stampOf(-0.5)
  entry.asMade = { stamp = madeStamp or entry.stamp, state = entry.state, holds = entry.holds }
  if maker ~= rule then
    local made = entry.state
    recount(maker, entry)
    if made then
      -- What is kept of a state that only the other rule has counted lasts as long as that says.
      local _, _, madeMs = maker.step(made, entry.leastMs, 0, true)
      entry.asMade.resetAfterMs = madeMs > 0 and madeMs + entry.leastMs - nowMs or 0
    end
    -- A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
    if mark == -0.5 and (entry.state or entry.holds) then
      -- Stored even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is
      -- counted: callers who disagree about the rule for long must not use it anew at every request either.
      entry.changed = true
      entry.asMade = { stamp = stampOf(-0.25), state = entry.state, holds = entry.holds }
    end
  end
  return entry
end

-- The rules of the tiers, as ARGV[at] and what follows it say, each with its request. Answers where the rest starts.
local function readTiers(count, at)
  local tiers = {}
  for index = 1, count do
    local rule = ruleOf(ARGV[at], ARGV, at + 1)
    local next = at + 2 + rule.size
    if #ARGV < next - 1 then
      local takes = rule.size .. ' parameters, - for a default, and a request'
      error('sluice: the tier ' .. rule.name .. ' takes ' .. takes .. ', got ' .. #ARGV - at, 0)
    end
    tiers[index] = { rule = rule, at = at, request = ARGV[next - 1] }
    at = next
  end
  return tiers, at
end

-- What one tier is asked. Kept with the tier, for the decisions that ask the same.
local function readPart(tier, request)
  if tier.asked == request then
    return tier.part
  end
  tier.asked = request
  local ruleText, isShadow = nil, false
  if string.sub(request, 1, 9) == 'changing:' then
    request, ruleText = string.sub(request, 10), table.concat(ARGV, ' ', tier.at, tier.at + tier.rule.size)
  end
  if string.sub(request, 1, 7) == 'shadow:' then
    request, isShadow = string.sub(request, 8), true
  end
  local cost = tonumber(request)
  local isPlain = cost ~= nil
  cost = cost or tonumber(string.match(request, '^(%w+):blockFor:') or string.match(request, '^hold:(%d+)'))
  tier.part = {
    rule = tier.rule,
    ruleText = ruleText,
    request = request,
    isShadow = isShadow,
    cost = cost,
    isPlain = isPlain and not ruleText and cost >= 1 and cost <= tier.rule.limit and cost % 1 == 0,
    key = nil,
    value = nil,
    entry = nil,
    state = nil,
    keeps = nil,
  }
  return tier.part
end

local function entryOf(part, nowMs)
  if part.ruleText then
    return readChanging(part.rule, part.ruleText, part.value, nowMs)
  end
  return frame().readEntry(part.rule.timeOf, part.value)
end

-- Decides every tier plainly into reply[at + 1..]. Answers whether all of them passed so, and then has noted what was taken.
local function takePlainly(parts, nowMs, isServerTime, reply, at)
  local last = at + 5 * #parts
  for index, part in ipairs(parts) do
    local allowed
    if part.isPlain then
      local first = at + 5 * index - 4
      allowed, reply[first + 1], reply[first + 2], reply[first + 3], reply[first + 4], reply[last + index], part.state, part.keeps =
        decidePlainly(part.rule, part.value, part.cost + 0.0, nowMs)
      reply[first] = allowed
    end
    if allowed ~= 1 then
      return false
    end
  end
  for index, part in ipairs(parts) do
    note(part.key, part.state, reply[at + 5 * index - 1], part.keeps and isServerTime)
  end
  return true
end

-- Decides every tier into reply[at + 1..] and notes what is taken: all that costs or holds, or none. Answers whether that passed.
local function take(parts, nowMs, isServerTime, reply, at)
  if takePlainly(parts, nowMs, isServerTime, reply, at) then
    return true
  end
  local isRefused = false
  for index, part in ipairs(parts) do
    local last = at + 5 * index
    part.entry = entryOf(part, nowMs)
    reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
      frame().decide(part.rule, part.entry, part.request, nowMs, part.isShadow)
    isRefused = isRefused or (part.cost and not part.isShadow and reply[last - 4] == 0)
  end
  for index, part in ipairs(parts) do
    local last = at + 5 * index
    if isRefused and part.cost and reply[last - 4] == 1 then
      part.entry = entryOf(part, nowMs)
      reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
        frame().judge(part.rule, part.entry, part.cost, nowMs, false)
    end
  end
  for index, part in ipairs(parts) do
    frame().noteEntry(part.key, part.entry)
    reply[at + 5 * #parts + index] = part.entry.timeMs
  end
  return not isRefused
end

-- What a decision is about: the keys from first on, and the requests from ARGV[at] on, or those beside the tiers.
local function readParts(tiers, values, first, at, idKey)
  local parts, seen = {}, {}
  if idKey then
    seen[idKey] = true
  end
  for index, tier in ipairs(tiers) do
    local part, key = readPart(tier, at and ARGV[at + index - 1] or tier.request), KEYS[first + index - 1]
    if seen[key] then
      error('sluice: each tier has a key of its own, got twice ' .. key, 0)
    end
    seen[key], part.key, part.value = true, key, slots[key] and notedValues[slots[key]]
    if part.value == nil then
      part.value = values[first + index - 1]
    end
    parts[index] = part
  end
  return parts
end

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply. Answers nil when it is over.
local function recall(known, count, nowMs)
  local numbers, isAnswer = {}, #known == 8 * (6 * count + 1)
  for at = 1, #known - 7, 8 do
    local number = struct_unpack('<d', known, at)
    isAnswer = isAnswer and number % 1 == 0 and number >= -1 and number <= 4 * EXACT
    numbers[#numbers + 1] = number
  end
  if not isAnswer then
    error(
      'sluice: the key of the id holds something else than an answer for as many tiers, and it was left as it is',
      0
    )
  end
  return table.remove(numbers, 1) > nowMs and numbers or nil
end

-- One decision, or with n* as many over the same tiers, one after the other: what one takes the next sees.
local function decideAll(idText, nowMs, isServerTime)
  local many = string.match(idText, '^(%d+)%*$')
  local times = many and whole('the number of decisions', many, 1, 1000) or 1
  local idMs = many and 0 or whole('idMs', idText, 0, 315619200000)
  local values, keys, reply = readKeys(), idMs > 0 and #KEYS - 1 or #KEYS, {}
  local count = keys / times
  if count < 1 then
    error('sluice: with an idMs the last key is that of the id, and every tier has one before it, got 1 key', 0)
  elseif count % 1 ~= 0 then
    error(string.format('sluice: each decision has as many keys, got %.0f for %.0f decisions', keys, times), 0)
  end
  local known = idMs > 0 and values[#KEYS]
  if known then
    reply = recall(known, count, nowMs)
    if reply then
      return reply
    end
    reply = {}
  end
  local tiers, at = readTiers(count, 3)
  local last = at - 1 + (times - 1) * count
  if #ARGV > last then
    error(string.format('sluice: there are more arguments than %.0f tiers take, got ', count) .. ARGV[last + 1], 0)
  elseif #ARGV < last then
    error(string.format('sluice: %.0f decisions take %.0f arguments, got %.0f', times, last, #ARGV), 0)
  end
  local isAllowed
  for turn = 0, times - 1 do
    local parts =
      readParts(tiers, values, turn * count + 1, turn > 0 and at + (turn - 1) * count, idMs > 0 and KEYS[#KEYS])
    isAllowed = take(parts, nowMs, isServerTime, reply, turn * 6 * count)
  end
  if idMs > 0 and isAllowed then
    local packed = { struct_pack('<d', nowMs + idMs) }
    for index, number in ipairs(reply) do
      packed[index + 1] = struct_pack('<d', number)
    end
    note(KEYS[#KEYS], table.concat(packed), idMs)
  end
  writeAll(isServerTime)
  return reply
end

local nowMs, isServerTime = clock(ARGV[1])
local reply = decideAll(ARGV[2] or '0', nowMs, isServerTime)
return math.tointeger and whole64(reply) or reply

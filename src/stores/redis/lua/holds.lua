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
      local id, amount, left, takenMs, untilMs = struct.unpack('<ddddd', value, at + 8 + (index - 1) * 40)
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
    local packed = { struct.pack('<d', -#holds - 0.5) }
    for index, hold in ipairs(holds) do
      packed[index + 1] = struct.pack('<ddddd', hold.id, hold.amount, hold.left, hold.takenMs, hold.untilMs)
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
    local atMs = entry.state and struct.unpack('<d', entry.state) or nowMs
    if atMs - nowMs > mostLagMs then
      local _, _, resetAfterMs, _, _, moved = rule.step(entry.state, nowMs, 0, true)
      entry.state, entry.changed, entry.counted = resetAfterMs > 0 and moved or nil, true, true
      -- A window starts before the time that it is moved to. What a hold took has to stay in the window that counts it.
      backMs, takenBackMs = atMs - nowMs, moved and atMs - struct.unpack('<d', moved) or atMs - nowMs
    else
      timeMs = math.max(atMs, nowMs)
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
      timeMs = math.max(timeMs, hold.takenMs)
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
      lastMs = math.max(lastMs, hold.untilMs)
    end
    local emptied, resetAfterMs, _ = returned(rule, entry.state, entry.holds, timeMs), 0, nil
    if emptied then
      _, _, resetAfterMs = rule.step(emptied, timeMs, 0, true)
    end
    return math.max(lastMs - timeMs, resetAfterMs)
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

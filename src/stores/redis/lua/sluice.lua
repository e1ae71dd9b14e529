-- Ten calendar years.
local LONGEST_MS = 315619200000
-- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
local MOST_LAG_MS = 60000
-- The most holds of one key at once.
local MOST_HOLDS = 1000
local FOREIGN = 'sluice: the key holds something else than a state of this rule, and it was left as it is'

local function isWhole(number, least, most)
  return number % 1 == 0 and number >= least and number <= (most or EXACT)
end

-- Lua 5.4 tells whole numbers from others, and its whole numbers overflow: adding 0.0 keeps all of them doubles.
local function whole(what, text, least, most)
  local number = tonumber(text)
  if number and isWhole(number, least, most) then
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

-- The count after cost: never below zero, and above ceiling only if it already was.
local function addBounded(used, cost, ceiling)
  if cost < 0 then
    return math.max(0, used + cost)
  end
  return math.max(used, math.min(used + cost, ceiling))
end

-- Many numbers of a text. By the hundred: one by one takes longer.
local function readNumbers(text, at, count)
  local numbers = {}
  for first = 0, count - 1, 100 do
    local size = math.min(100, count - first)
    local read = { struct.unpack('<' .. string.rep('d', size), text, at + 8 * first) }
    for place = 1, size do
      numbers[first + place] = read[place]
    end
  end
  return numbers
end

local function packNumbers(numbers, count)
  local parts = {}
  for first = 1, count, 100 do
    local last = math.min(first + 99, count)
    parts[#parts + 1] =
      struct.pack('<' .. string.rep('d', last - first + 1), (table.unpack or unpack)(numbers, first, last))
  end
  return table.concat(parts)
end

-- @rules

-- The rule as it was when it counted a state; nothing when it was as it is.
local function readCounting(rule, state)
  local isOwn = state.windowMs == rule.windowMs and state.slices == rule.slices and state.sliceMs == rule.sliceMs
  isOwn = isOwn and state.periodMs == rule.periodMs and state.rate == rule.rate
  if isOwn and not (state.used and state.used > (rule.limit + rule.maxDebt) * rule.periodMs) then
    return nil
  end
  local counting = {}
  for name, value in pairs(rule) do
    counting[name] = value
  end
  counting.windowMs, counting.slices, counting.sliceMs = state.windowMs, state.slices, state.sliceMs
  counting.periodMs, counting.rate = state.periodMs, state.rate
  return counting
end

-- What is used of a state as if it was used now, by the rule as it is.
local function recountState(rule, counting, state, nowMs)
  if rule.recount then
    return rule.recount(rule, counting, state, nowMs)
  end
  -- Where nearly everything fits, what does not remain is used, debt included.
  local limit, _, remaining, next = counting.limit, nil, nil, nil
  counting.limit = EXACT
  _, remaining = counting.step(counting, state, nowMs, 0, true)
  counting.limit = limit
  if remaining < EXACT then
    _, _, _, _, _, next = rule.step(rule, nil, nowMs, EXACT - remaining, true)
  end
  return next
end

-- One step: what taking cost would do, or with force what adding it does; negative gives back, of what was taken at takenMs if that is given.
-- Answers retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, the next state, and how much was given back. On a state that other
-- parameters have counted time goes by those until something is counted. Then what is used counts as used now.
local function step(rule, state, nowMs, cost, force, takenMs)
  local counting = state and readCounting(rule, state)
  if not counting then
    return rule.step(rule, state, nowMs, cost, force, takenMs)
  end
  local _, _, freshMs = rule.step(counting, state, nowMs, 0, true)
  if freshMs == 0 then
    return rule.step(rule, nil, nowMs, cost, force)
  elseif cost > 0 and (force or rule.step(counting, state, nowMs, cost, false) == 0) then
    return rule.step(rule, recountState(rule, counting, state, nowMs), nowMs, cost, true)
  end
  return rule.step(counting, state, nowMs, cost, force, takenMs)
end

-- The state to keep after a step: none when it is as if the key had never been used.
local function stateAfter(rule, state, nowMs, cost, takenMs)
  local _, _, resetAfterMs, _, _, next, returned = step(rule, state, nowMs, cost, true, takenMs)
  return resetAfterMs > 0 and next or nil, returned or 0
end

-- @holds

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
  elseif state then
    timeMs = math.max(state.atMs, nowMs)
  end
  if entry.holds and entry.holds.lastTakenMs - nowMs > MOST_LAG_MS then
    entry.holds, entry.changed, entry.counted = pullHolds(entry.holds, nowMs, timeMs), true, true
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
  if entry.holds then
    -- The key was there when a hold was taken, also if nothing else tells of that any more.
    timeMs = math.max(timeMs, entry.holds.lastTakenMs)
    returnExpired(rule, entry, timeMs)
  end
  local counting = entry.state and readCounting(rule, entry.state)
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
    step(rule, entry.state, timeMs, never and 0 or cost, false)
  local passes = retryAfterMs == 0
  local allowed = passes and not never and blockedMs == 0
  if allowed and take then
    if entry.holds then
      clipHolds(rule, entry, timeMs)
    end
    if newHold then
      insertHold(entry, newHold.id, cost, cost, timeMs, timeMs + newHold.holdMs)
    end
    -- What passes proves that a block is over.
    entry.blockAtMs, entry.untilMs = nil, nil
    entry.state, entry.changed, entry.counted = resetAfterMs > 0 and state or nil, true, true
  elseif passes then
    -- The step has counted a cost that is not taken after all: show the state as it stays.
    local _
    _, remaining, resetAfterMs, nextAfterMs = step(rule, entry.state, timeMs, 0, true)
  elseif entry.holds and not never then
    retryAfterMs = passesAfter(rule, entry, timeMs, cost)
  end
  if entry.holds then
    -- At the latest: then the last of them expires, and the state is fresh.
    resetAfterMs = math.max(readUntil(entry.holds, entry.holds.count) - timeMs, resetAfterMs)
    if allowed and remaining < rule.limit then
      nextAfterMs = passesAfter(rule, entry, timeMs, remaining + 1)
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
  entry.state = stateAfter(rule, entry.state, timeMs, cost, takenMs)
  entry.changed, entry.counted = entry.changed or entry.exists or entry.state ~= nil, true
  endBlock(entry, nowMs)
  entry.timeMs = nil
end

-- Ends a hold of which used was used. Answers whether it was there.
local function settle(rule, entry, id, used, nowMs)
  keyTime(rule, entry, nowMs)
  local amount, left, takenMs = takeHold(entry, id)
  if not amount then
    return false
  end
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
  local amount, left, takenMs, holds = takeHold(entry, id)
  if not amount then
    return false
  end
  if rule.refunds == 'leased' then
    -- A lease counts from when it was taken: to last longer it is taken again.
    local released, returned = stateAfter(rule, entry.state, timeMs, -amount, takenMs)
    if returned < amount then
      entry.holds = holds
      return false
    end
    entry.state, takenMs = stateAfter(rule, released, timeMs, amount), timeMs
  end
  insertHold(entry, id, amount, left, takenMs, timeMs + holdMs)
  entry.holds.lastTakenMs, entry.holds.mostLeft = math.max(holds.lastTakenMs, takenMs), holds.mostLeft
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

-- Decides one operation on one key. Answers as consume does.
local function decide(rule, entry, operation, nowMs)
  local type, amount, isFound = operation.type, operation.amount, nil
  if type == 'consume' or type == 'reserve' then
    return take(rule, entry, operation, nowMs)
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
      entry.state, entry.holds, entry.counted = nil, nil, true
    end
  end
  return consume(rule, entry, 1, nowMs, false)
end

local function readOperation(text)
  local isChanging = string.sub(text, 1, 9) == 'changing:'
  local request = isChanging and string.sub(text, 10) or text
  local isShadow = string.sub(request, 1, 7) == 'shadow:'
  request = isShadow and string.sub(request, 8) or request
  local words, isRight = {}, true
  for word in string.gmatch(request .. ':', '([^:]*):') do
    words[#words + 1] = word
    isRight = isRight and (#words == 1 or word == 'blockFor' or string.match(word, '^%d+$') ~= nil)
  end
  local type, count, operation = words[1], #words, { isChanging = isChanging, isShadow = isShadow }
  operation.type = tonumber(type) and 'consume' or type
  if words[count - 1] == 'blockFor' and (tonumber(type) or type == 'reserve') then
    count = count - 2
    operation.blockMs = isRight and whole('the milliseconds of a blockFor', words[count + 2], 1, LONGEST_MS)
  end
  for index = 2, count do
    isRight = isRight and words[index] ~= 'blockFor'
  end
  if isRight and tonumber(type) and count == 1 then
    operation.amount = whole('the cost', type, 1)
  elseif isRight and type == 'peek' and count <= 2 then
    operation.amount = whole('the cost of a peek', words[2] or 1, 0)
  elseif isRight and ((type == 'charge' and count <= 2) or (type == 'refund' and count <= 3)) then
    operation.amount = whole('the amount of a ' .. type, words[2] or 1, 1)
    operation.takenMs = words[3] and whole('the time of a refund', words[3], 0)
  elseif isRight and (type == 'block' or type == 'reblock') and count <= 2 then
    operation.amount = whole('the milliseconds of a ' .. type, words[2], 1, LONGEST_MS)
  elseif isRight and type == 'reserve' and count == 4 then
    operation.amount = whole('the amount of a reserve', words[2], 1)
    operation.id = whole('the id of a reserve', words[3], 1)
    operation.holdMs = whole('the milliseconds of a reserve', words[4], 1, LONGEST_MS)
  elseif isRight and type == 'settle' and count == 3 then
    operation.id = whole('the id of a settle', words[2], 1)
    operation.amount = whole('the amount of a settle', words[3], 0)
  elseif isRight and type == 'extend' and count == 3 then
    operation.id = whole('the id of an extend', words[2], 1)
    operation.amount = whole('the milliseconds of an extend', words[3], 1, LONGEST_MS)
  elseif not (isRight and (type == 'unblock' or type == 'reset') and count == 1) then
    local short = 'a cost, peek:cost, charge:amount, refund:amount, reserve:amount:id:milliseconds, settle:id:used, '
    local known = short .. 'extend:id:milliseconds, block:milliseconds, reblock:milliseconds, unblock or reset'
    error('sluice: a request must be ' .. known .. ', got ' .. request, 0)
  end
  operation.isTaking = operation.type == 'consume' or operation.type == 'reserve'
  return operation
end

-- What is kept of a key. A state starts with its own time, a whole number. What comes before it starts with another one: a block is
-- -math.huge and two times, n holds are the number -n - 0.5, two numbers and n rows, and before all that, where the rule may change, is the
-- rule that counted: -0.5, the length of its text, and the text. With -0.25 that rule was only taken over by a refusal, and nothing has
-- been counted by it yet. What cannot be one of these is nothing that was written here. Of a long timeline
-- the front is all that.
local function readKey(key, rule, isChanging)
  local line, value = nil, nil
  if rule.spanMs then
    line, value = readPlaces(key)
  end
  value = value or redis.call('GET', key)
  local stored, at = { exists = value ~= false, countedBy = rule, isConverted = false }, 1
  if not value then
    return stored
  end
  local mark = #value >= 8 and struct.unpack('<d', value) or 0
  if isChanging and #value >= 16 and (mark == -0.5 or mark == -0.25) then
    local length, words = struct.unpack('<d', value, 9), {}
    at = 17 + (isWhole(length, 0, #value - 16) and length or 0)
    stored.text, stored.isConverted = string.sub(value, 17, at - 1), mark == -0.25
    for word in string.gmatch(stored.text, '%S+') do
      words[#words + 1] = word
    end
    local isRule = words[1] == rule.name and #words == 1 + rule.size
    if isRule and stored.text ~= rule.text then
      isRule, stored.countedBy = pcall(readRule, words[1], words, 2)
    end
    if not isRule then
      error(FOREIGN, 0)
    end
    mark = #value >= at + 7 and struct.unpack('<d', value, at) or 0
  end
  if mark == -math.huge and #value >= at + 23 then
    local _, blockAtMs, untilMs = struct.unpack('<ddd', value, at)
    if not (isWhole(blockAtMs, 0, 2 * EXACT) and isWhole(untilMs, blockAtMs + 1, 2 * EXACT)) then
      error(FOREIGN, 0)
    end
    stored.blockAtMs, stored.untilMs, at = blockAtMs, untilMs, at + 24
    mark = #value >= at + 7 and struct.unpack('<d', value, at) or 0
  end
  local count = -mark - 0.5
  if isWhole(count, 1) and #value >= at + 23 + count * 40 then
    stored.holds = readHolds(value, at + 8, count)
    at = at + 24 + count * 40
  end
  local hasState = line or at == 1 or at <= #value
  if line then
    stored.state = at > #value and readLong(key, line)
  elseif hasState then
    stored.state = rule.read(value, at)
  end
  if hasState and not stored.state then
    error(FOREIGN, 0)
  end
  return stored
end

-- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change
-- is a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
local function recount(rule, stored, entry, nowMs)
  local counting = stored.countedBy
  local timeMs = keyTime(counting, entry, nowMs)
  local state, _, used, remaining, freshMs =
    entry.state and stateAfter(counting, entry.state, timeMs, 0), nil, nil, nil, nil
  if rule.refunds == 'leased' then
    -- A permit is a permit, whatever the limit.
    entry.state = state
  else
    if rule.refunds == 'pooled' then
      -- A rule that shapes has less remaining than is free: what could be given back tells.
      used = countTaken(counting, state, timeMs)
    else
      _, remaining = step(counting, state, timeMs, 0, true)
      used = counting.limit - remaining
    end
    entry.state = stateAfter(rule, nil, timeMs, math.ceil(used * rule.limit / counting.limit))
    if entry.holds then
      entry.holds = recountHolds(rule, counting, entry.holds, state, timeMs)
    end
  end
  if stored.state then
    -- What is kept of a state that only the other rule has counted lasts as long as that says.
    _, _, freshMs = step(counting, stored.state, timeMs, 0, true)
    entry.keptMs = freshMs > 0 and freshMs + timeMs - nowMs or 0
  end
  -- A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
  if not stored.isConverted and (entry.state or entry.holds) then
    -- Stored even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is
    -- counted: callers who disagree about the rule for long must not use it anew at every request either.
    entry.changed, entry.keptMs = true, 0
    entry.kept = { state = entry.state, holds = entry.holds, countedBy = rule, text = rule.text, isConverted = true }
  end
end

-- What a decision works on: the parts are those that are kept until it changes one. kept stays unless something is counted: holds that
-- have expired, and a rule that has changed, change what is kept then, and not before.
local function openEntry(rule, stored, nowMs)
  local entry = {
    exists = stored.exists,
    changed = false,
    counted = false,
    resetAfterMs = 0,
    timeMs = nil,
    state = stored.state,
    holds = stored.holds,
    blockAtMs = stored.blockAtMs,
    untilMs = stored.untilMs,
    kept = stored,
    keptMs = 0,
  }
  if stored.countedBy ~= rule then
    recount(rule, stored, entry, nowMs)
  end
  return entry
end

-- What is kept of a key after a decision that has changed it.
local function closeEntry(rule, entry)
  if entry.resetAfterMs == 0 then
    return { exists = false, countedBy = rule, isConverted = false }
  end
  local kept = entry.counted and entry or entry.kept
  return {
    exists = true,
    ttlMs = math.max(entry.resetAfterMs, entry.counted and 0 or entry.keptMs),
    state = kept.state,
    holds = kept.holds,
    blockAtMs = entry.blockAtMs,
    untilMs = entry.untilMs,
    countedBy = entry.counted and rule or kept.countedBy,
    text = not entry.counted and kept.text or rule.text,
    isConverted = not entry.counted and kept.isConverted,
  }
end

local function writeKey(key, rule, stored, isChanging, isServerTime)
  if not stored.exists then
    return redis.call('DEL', key)
  end
  local tag = isChanging and struct.pack('<dd', stored.isConverted and -0.25 or -0.5, #stored.text) .. stored.text or ''
  local block = stored.untilMs and struct.pack('<ddd', -math.huge, stored.blockAtMs, stored.untilMs) or ''
  local front, state = tag .. block .. (stored.holds and writeHolds(stored.holds) or ''), stored.state
  -- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
  local ttl = string.format('%.0f', isServerTime and stored.ttlMs or stored.ttlMs + 60000)
  if state and state.runs and isLong(state) then
    writeRuns(key, state.runs, state.first, front, struct.pack('<ddd', state.atMs, state.newest, state.spanMs))
    return redis.call('PEXPIRE', key, ttl)
  end
  return redis.call('SET', key, state and rule.write(state, front) or front, 'PX', ttl)
end

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply. Answers nothing when it is over.
local function loadReply(key, count, nowMs)
  local known, numbers, at, isRight = redis.call('GET', key), {}, 2, true
  if not known then
    return nil
  end
  for place = 1, #known - 7, 8 do
    numbers[#numbers + 1] = struct.unpack('<d', known, place)
    isRight = isRight and isWhole(numbers[#numbers], -EXACT, 4 * EXACT)
  end
  for _ = 1, count do
    at = at + ((numbers[at] or 0) < 0 and 4 or 3)
    isRight = isRight and at <= #numbers + 1 and numbers[at - 2] >= 0 and numbers[at - 1] >= -1
  end
  if not (isRight and at == #numbers + 1 and #known == 8 * #numbers and numbers[1] >= 0) then
    local held = 'sluice: the key of the id holds something else than an answer for as many tiers'
    error(held .. ', and it was left as it is', 0)
  end
  return table.remove(numbers, 1) > nowMs and numbers or nil
end

-- The rules of the tiers, as ARGV[3] and what follows it say, each with its first operation. Answers where the rest starts.
local function readTiers(count)
  local tiers, at = {}, 3
  for index = 1, count do
    local rule = readRule(ARGV[at], ARGV, at + 1)
    local next = at + 2 + rule.size
    if #ARGV < next - 1 then
      local takes = rule.size .. ' parameters, - for a default, and a request'
      error('sluice: the tier ' .. rule.name .. ' takes ' .. takes .. ', got ' .. #ARGV - at, 0)
    end
    rule.text = table.concat(ARGV, ' ', at, next - 2)
    tiers[index] = { rule = rule, request = ARGV[next - 1] }
    at = next
  end
  return tiers, at
end

if #KEYS < 1 or #KEYS > 1000 then
  error('sluice: KEYS must have 1 to 1000 keys, got ' .. #KEYS, 0)
end
local nowMs, isServerTime = 0, ARGV[1] == nil or ARGV[1] == '-1'
if isServerTime then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000.0 + math.floor(time[2] / 1000)
else
  nowMs = whole('nowMs', ARGV[1], 0)
end
local many, sign = string.match(ARGV[2] or '', '^(%d+)([*@])$')
local decisions = many and whole('the number of decisions', many, 1, 1000) or 1
local idMs = many and 0 or whole('idMs', ARGV[2] or '0', 0, LONGEST_MS)
local keys = idMs > 0 and #KEYS - 1 or #KEYS
local count = keys / decisions
if count < 1 then
  error('sluice: with idMs, KEYS must have a key for each tier and then the key of the id, got 1 key', 0)
elseif count % 1 ~= 0 then
  error(string.format('sluice: each decision must have as many keys, got %.0f for %.0f decisions', keys, decisions), 0)
end
local reply = idMs > 0 and loadReply(KEYS[#KEYS], count, nowMs)
local isKnown = reply and true or false
local tiers, rest = {}, 0
if not isKnown then
  reply = {}
  tiers, rest = readTiers(count)
  local last = rest - 1 + (decisions - 1) * count
  if #ARGV > last then
    error(string.format('sluice: %.0f tiers take fewer arguments, remove those from ', count) .. ARGV[last + 1], 0)
  elseif #ARGV < last then
    error(string.format('sluice: %.0f decisions take %.0f arguments, got %.0f', decisions, last, #ARGV), 0)
  end
end

-- Every decision sees what those before it have taken. All is written at the end: when anything is wrong, nothing has been written.
local kept, operations, written, n, isRefused = {}, {}, {}, 0, false
for decision = 0, isKnown and -1 or decisions - 1 do
  local parts, seen = {}, { [idMs > 0 and KEYS[#KEYS] or 0] = true }
  isRefused = false
  for index, tier in ipairs(tiers) do
    local key = KEYS[decision * count + index]
    local request = decision == 0 and tier.request or ARGV[rest - 1 + (decision - 1) * count + index]
    local operation = operations[request] or readOperation(request)
    operations[request] = operation
    if seen[key] then
      error('sluice: each tier must have its own key, got twice ' .. key, 0)
    end
    seen[key] = true
    kept[key] = kept[key] or readKey(key, tier.rule, operation.isChanging)
    local part = { key = key, tier = tier, operation = operation, entry = openEntry(tier.rule, kept[key], nowMs) }
    part.allowed, part.remaining, part.resetAfterMs, part.laterMs, part.waitMs =
      decide(tier.rule, part.entry, operation, nowMs)
    isRefused = isRefused or (operation.isTaking and not operation.isShadow and not part.allowed)
    parts[index] = part
  end
  for _, part in ipairs(parts) do
    local key, rule, operation = part.key, part.tier.rule, part.operation
    if isRefused and operation.isTaking and part.allowed then
      -- All that is to be taken or none.
      part.entry = openEntry(rule, kept[key], nowMs)
      part.allowed, part.remaining, part.resetAfterMs, part.laterMs, part.waitMs =
        consume(rule, part.entry, operation.amount, nowMs, false)
    end
    if part.entry.changed then
      local before = kept[key]
      kept[key] = closeEntry(rule, part.entry)
      if not before.isWritten and (before.exists or kept[key].exists) then
        written[#written + 1] = { key = key, rule = rule, isChanging = operation.isChanging }
      end
      kept[key].isWritten = before.isWritten or before.exists or kept[key].exists
    end
    if not part.allowed then
      local isBlocked = part.waitMs > 0
      reply[n + 1], reply[n + 2] = isBlocked and -2 or -1, isBlocked and part.waitMs or part.remaining
      n = n + 2
    else
      if part.waitMs > 0 then
        n = n + 1
        reply[n] = -3 - part.waitMs
      end
      n = n + 1
      reply[n] = part.remaining
    end
    reply[n + 1], reply[n + 2] = part.resetAfterMs, part.laterMs
    n = n + 2
    if sign == '@' then
      n = n + 1
      reply[n] = part.entry.timeMs
    end
  end
end
for _, one in ipairs(written) do
  writeKey(one.key, one.rule, kept[one.key], one.isChanging, isServerTime)
end
if idMs > 0 and not isKnown and not isRefused then
  local packed = { struct.pack('<d', nowMs + idMs) }
  for index, number in ipairs(reply) do
    packed[index + 1] = struct.pack('<d', number)
  end
  local key, ttlMs = KEYS[#KEYS], isServerTime and idMs or idMs + 60000
  redis.call('SET', key, table.concat(packed), 'PX', string.format('%.0f', ttlMs))
end
for index = 1, math.tointeger and #reply or 0 do
  reply[index] = math.tointeger(reply[index]) -- Engines on Lua 5.4 would answer 5.0 as a text.
end
return reply

-- A timeline is its newest time, its total, and pairs of time and cost, oldest first: 16 bytes, and 16 for each pair.

-- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
local function movedBack(line, backMs)
  local atMs, total = struct.unpack('<dd', line)
  local moved = { struct.pack('<dd', atMs - backMs, total) }
  for at = 17, #line, 16 do
    local timeMs, cost = struct.unpack('<dd', line, at)
    moved[#moved + 1] = struct.pack('<dd', timeMs - backMs, cost)
  end
  return table.concat(moved)
end

-- The pairs in line[from..] after giving back amount, which is less than their total.
local function withoutNewest(line, from, amount)
  local at = #line - 15
  local timeMs, cost = struct.unpack('<dd', line, at)
  while cost <= amount do
    amount = amount - cost
    at = at - 16
    timeMs, cost = struct.unpack('<dd', line, at)
  end
  return line:sub(from, at - 1) .. struct.pack('<dd', timeMs, cost - amount)
end

local function withoutOldest(line, from, amount)
  local timeMs, cost = struct.unpack('<dd', line, from)
  while cost <= amount do
    amount = amount - cost
    from = from + 16
    timeMs, cost = struct.unpack('<dd', line, from)
  end
  return struct.pack('<dd', timeMs, cost - amount) .. line:sub(from + 16)
end

-- One step of a rule that counts what was taken within the last spanMs, exactly.
local function stepTimeline(limit, spanMs, maxDebt, without, state, nowMs, cost, force)
  local line, atMs, total, from = state or '', nowMs, 0, 17
  if state then
    atMs, total = struct.unpack('<dd', line)
    if atMs > nowMs then
      line, atMs = movedBack(line, atMs - nowMs), nowMs
    end
    while from < #line do
      local timeMs, taken = struct.unpack('<dd', line, from)
      if timeMs > nowMs - spanMs then
        break
      end
      total = total - taken
      from = from + 16
    end
  end

  if not force and total + cost > limit then
    local freed, at, timeMs = 0, from, atMs
    while freed < cost - (limit - total) do
      local taken
      timeMs, taken = struct.unpack('<dd', line, at)
      freed = freed + taken
      at = at + 16
    end
    local resetAfterMs = total == 0 and 0 or atMs + spanMs - nowMs
    return timeMs + spanMs - nowMs, math.max(0, limit - total), resetAfterMs, 0
  end

  local before = total
  total = addBounded(total, cost, limit + maxDebt)
  local pairsLeft, added = nil, ''
  if total == 0 then
    return 0, limit, 0, 0
  elseif total < before then
    pairsLeft = without(line, from, before - total)
    atMs = struct.unpack('<d', pairsLeft, #pairsLeft - 15)
  elseif total == before then
    pairsLeft = line:sub(from)
  elseif before > 0 and atMs == nowMs then
    local newest = struct.unpack('<d', line, #line - 7)
    pairsLeft, added = line:sub(from, -9), struct.pack('<d', newest + (total - before))
  else
    pairsLeft, added = line:sub(from), struct.pack('<dd', nowMs, total - before)
    atMs = nowMs
  end
  -- Joined at once: Redis hashes every byte of every string that a script makes.
  local next = struct.pack('<dd', atMs, total) .. pairsLeft .. added
  return 0, math.max(0, limit - total), atMs + spanMs - nowMs, 0, next
end

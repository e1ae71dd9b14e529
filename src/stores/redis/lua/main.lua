-- Reads each key once, decides in order, and then writes: when anything is wrong, nothing has been written.
local values, reply, at, left = readKeys(), {}, 0, 1000
local asked, times, request, cost, isAhead
for index = 1, #KEYS do
  local key = KEYS[index]
  local text = forAll or ARGV[firstRequest + index - 1] or '1'
  if text ~= asked then
    asked, times, request, cost, isAhead = text, readRequest(text, rule.limit)
  end
  left = left - times
  if left < 0 then
    error('sluice: one call decides 1 to 1000 requests, got more', 0)
  end
  local value = slots[key] and notedValues[slots[key]]
  if value == nil then
    value = values[index]
  end
  for _ = 1, times do
    local allowed, remaining, retryAfterMs, resetAfterMs, waitMs, timeMs, state, keeps
    if cost then
      allowed, remaining, retryAfterMs, resetAfterMs, waitMs, timeMs, state, keeps =
        decidePlainly(rule, value, cost, nowMs, isAhead)
    end
    if state then
      value = state
      note(key, state, resetAfterMs, keeps and isServerTime)
    elseif not allowed then
      local entry = frame().readEntry(rule.isState, value)
      allowed, remaining, retryAfterMs, resetAfterMs, waitMs = frame().decide(rule, entry, request, nowMs)
      value = frame().noteEntry(key, entry, value)
    end
    if isShort and allowed == 1 and retryAfterMs == 0 and waitMs == 0 then
      reply[at + 1], reply[at + 2] = remaining, resetAfterMs
      at = at + 2
    else
      if isShort then
        at = at + 1
        reply[at] = -1
      end
      reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4], reply[at + 5] =
        allowed, remaining, retryAfterMs, resetAfterMs, waitMs
      at = at + 5
    end
  end
end
writeAll(isServerTime)
return math.tointeger and whole64(reply) or reply

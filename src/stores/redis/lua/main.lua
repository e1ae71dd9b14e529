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
    answer(allowed, remaining, laterMs, resetAfterMs, waitMs)
  end
  if keptMs then
    note(key, value, keptMs, keepsEnd and isServerTime)
  end
end
writeAll(isServerTime)
return math.tointeger and whole64(reply) or reply

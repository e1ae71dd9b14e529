-- Reads each key once, decides in order, and then writes: when anything is wrong, nothing has been written.
local reply
if #KEYS == 1 then
  local entry = readEntry(rule.isState, redis.call('GET', KEYS[1]))
  reply = { decide(rule, entry, ARGV[firstRequest] or '1', nowMs) }
  writeEntry(KEYS[1], entry, isServerTime)
else
  local values, entries = readKeys(), {}
  reply = {}
  for index, key in ipairs(KEYS) do
    entries[key] = entries[key] or readEntry(rule.isState, values[index])
  end
  for index, key in ipairs(KEYS) do
    local request, at = ARGV[firstRequest + index - 1] or '1', 5 * index
    reply[at - 4], reply[at - 3], reply[at - 2], reply[at - 1], reply[at] = decide(rule, entries[key], request, nowMs)
  end
  for key, entry in pairs(entries) do
    writeEntry(key, entry, isServerTime)
  end
end
return math.tointeger and whole64(reply) or reply

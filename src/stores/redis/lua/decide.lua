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
  elseif operation == 'refund' then
    adjust(rule, entry, -whole('the amount of a refund', amount or 1, 1), nowMs)
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

-- Decides one request on one key. What is only watched blocks nobody.
local function decide(rule, entry, request, nowMs, isShadow)
  local cost = tonumber(request)
  if cost then
    return judge(rule, entry, whole('the cost', request, 1), nowMs, true)
  end
  return asking()(rule, entry, request, nowMs, isShadow)
end

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

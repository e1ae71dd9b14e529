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
    timeMs = math.max(nowMs, atMs)
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

-- The numbers of the reply: five for each decision. laterMs is nextAfterMs of what is allowed, and retryAfterMs of what is not.
local reply, replied = {}, 0
local function answer(allowed, remaining, laterMs, resetAfterMs, waitMs)
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = allowed, remaining, laterMs
  reply[replied + 4], reply[replied + 5] = resetAfterMs, waitMs
  replied = replied + 5
end

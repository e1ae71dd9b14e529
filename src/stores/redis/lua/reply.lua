-- The numbers of the reply. A short one says of what is allowed at once only remaining and resetAfterMs, of anything else -1 and all
-- five; and when everything is allowed at once and free again at the same time, it says -2, that time, and then only what remains.
local reply, replied, commonMs = {}, 0, nil

-- The time is no longer common to all: from now on each has its own.
local function uncommon()
  local apart = {}
  for index = 3, replied do
    apart[2 * index - 5], apart[2 * index - 4] = reply[index], commonMs
  end
  reply, replied, commonMs = apart, 2 * replied - 4, nil
end

local function answer(isShort, allowed, remaining, retryAfterMs, resetAfterMs, waitMs)
  local isBrief = isShort and allowed == 1 and retryAfterMs == 0 and waitMs == 0
  if isBrief and resetAfterMs == commonMs then
    replied = replied + 1
    reply[replied] = remaining
    return
  elseif isBrief and replied == 0 then
    reply[1], reply[2], reply[3] = -2, resetAfterMs, remaining
    replied, commonMs = 3, resetAfterMs
    return
  elseif commonMs then
    uncommon()
  end
  if isBrief then
    reply[replied + 1], reply[replied + 2] = remaining, resetAfterMs
    replied = replied + 2
    return
  elseif isShort then
    replied = replied + 1
    reply[replied] = -1
  end
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = allowed, remaining, retryAfterMs
  reply[replied + 4], reply[replied + 5] = resetAfterMs, waitMs
  replied = replied + 5
end

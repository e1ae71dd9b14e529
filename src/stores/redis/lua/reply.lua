-- The numbers of the reply. A short one says of what is allowed at once only remaining, resetAfterMs and nextAfterMs, of anything else
-- -1 and all five; and when everything is allowed at once and both times are the same for all, it says -2, those times, and then only
-- what remains.
local reply, replied, commonMs, commonNextMs = {}, 0, nil, nil

-- The times are no longer common to all: from now on each has its own.
local function uncommon()
  local apart = {}
  for index = 4, replied do
    apart[3 * index - 11], apart[3 * index - 10], apart[3 * index - 9] = reply[index], commonMs, commonNextMs
  end
  reply, replied, commonMs = apart, 3 * replied - 9, nil
end

-- laterMs is nextAfterMs of what is allowed, and retryAfterMs of what is not.
local function answer(isShort, allowed, remaining, laterMs, resetAfterMs, waitMs)
  local isBrief = isShort and allowed == 1 and waitMs == 0
  if isBrief and resetAfterMs == commonMs and laterMs == commonNextMs then
    replied = replied + 1
    reply[replied] = remaining
    return
  elseif isBrief and replied == 0 then
    reply[1], reply[2], reply[3], reply[4] = -2, resetAfterMs, laterMs, remaining
    replied, commonMs, commonNextMs = 4, resetAfterMs, laterMs
    return
  elseif commonMs then
    uncommon()
  end
  if isBrief then
    reply[replied + 1], reply[replied + 2], reply[replied + 3] = remaining, resetAfterMs, laterMs
    replied = replied + 3
    return
  elseif isShort then
    replied = replied + 1
    reply[replied] = -1
  end
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = allowed, remaining, laterMs
  reply[replied + 4], reply[replied + 5] = resetAfterMs, waitMs
  replied = replied + 5
end

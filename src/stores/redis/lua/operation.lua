local function readOperation(text)
  local isChanging = string.sub(text, 1, 9) == 'changing:'
  local request = isChanging and string.sub(text, 10) or text
  local isShadow = string.sub(request, 1, 7) == 'shadow:'
  request = isShadow and string.sub(request, 8) or request
  local words, isRight = {}, true
  for word in string.gmatch(request .. ':', '([^:]*):') do
    words[#words + 1] = word
    isRight = isRight and (#words == 1 or word == 'blockFor' or string.match(word, '^%d+$') ~= nil)
  end
  local type, count, operation = words[1], #words, { isChanging = isChanging, isShadow = isShadow }
  operation.type = tonumber(type) and 'consume' or type
  if words[count - 1] == 'blockFor' and (tonumber(type) or type == 'reserve' or type == 'grant') then
    count = count - 2
    operation.blockMs = isRight and whole('the milliseconds of a blockFor', words[count + 2], 1, LONGEST_MS)
  end
  for index = 2, count do
    isRight = isRight and words[index] ~= 'blockFor'
  end
  if isRight and tonumber(type) and count == 1 then
    operation.amount = whole('the cost', type, 1)
  elseif isRight and type == 'peek' and count <= 2 then
    operation.amount = whole('the cost of a peek', words[2] or 1, 0)
  elseif isRight and ((type == 'charge' and count <= 2) or (type == 'refund' and count <= 3)) then
    operation.amount = whole('the amount of a ' .. type, words[2] or 1, 1)
    operation.takenMs = words[3] and whole('the time of a refund', words[3], 0)
  elseif isRight and (type == 'block' or type == 'reblock') and count <= 2 then
    operation.amount = whole('the milliseconds of a ' .. type, words[2], 1, LONGEST_MS)
  elseif isRight and type == 'reserve' and count == 4 then
    operation.amount = whole('the amount of a reserve', words[2], 1)
    operation.id = whole('the id of a reserve', words[3], 1)
    operation.holdMs = whole('the milliseconds of a reserve', words[4], 1, LONGEST_MS)
  elseif isRight and type == 'grant' and (count == 7 or count == 9) then
    operation.amount = whole('the amount of a grant', words[2], 1)
    operation.soon = whole('what a grant is soon spent of', words[3], 0)
    operation.want = whole('what a grant wants', words[4], operation.amount)
    operation.id = whole('the id of a grant', words[5], 1)
    operation.holdMs = whole('the milliseconds of a grant', words[6], 1, LONGEST_GRANT_MS)
    operation.soonMs = whole('the least milliseconds of a grant', words[7], 1, operation.holdMs)
    operation.endedId = count == 9 and whole('the id of the grant before', words[8], 1)
    operation.endedUsed = count == 9 and whole('what was used of the grant before', words[9], 0)
  elseif isRight and type == 'settle' and count == 3 then
    operation.id = whole('the id of a settle', words[2], 1)
    operation.amount = whole('the amount of a settle', words[3], 0)
  elseif isRight and type == 'extend' and count == 3 then
    operation.id = whole('the id of an extend', words[2], 1)
    operation.amount = whole('the milliseconds of an extend', words[3], 1, LONGEST_MS)
  elseif not (isRight and (type == 'unblock' or type == 'reset') and count == 1) then
    local short = 'a cost, peek:cost, charge:amount, refund:amount, reserve:amount:id:milliseconds, '
    short = short .. 'grant:amount:soon:want:id:milliseconds:least, settle:id:used, '
    local known = short .. 'extend:id:milliseconds, block:milliseconds, reblock:milliseconds, unblock or reset'
    error('sluice: a request must be ' .. known .. ', got ' .. request, 0)
  end
  operation.isTaking = operation.type == 'consume' or operation.type == 'reserve' or operation.type == 'grant'
  return operation
end

-- Holds: what was taken for a time. Each has five numbers: its id, its amount, what is left of that to go back, when it was taken, and until
-- when it lasts. Those that expire first come first. They are kept in columns: first all ids, then all amounts, and so on. Before the columns are
-- the latest time at which one was taken, also of those that have ended since, and mostLeft: no more than that can go back of any hold. So a take
-- clips all of them, and touches none. Column c of count rows starts at texts[c][ats[c]].
local IDS, AMOUNTS, LEFTS, TAKENS, UNTILS = 1, 2, 3, 4, 5

local function readNumber(holds, column, row)
  return struct.unpack('<d', holds.texts[column], holds.ats[column] + 8 * (row - 1))
end

local function readRow(holds, row)
  local id, amount = readNumber(holds, IDS, row), readNumber(holds, AMOUNTS, row)
  local left, takenMs, untilMs =
    readNumber(holds, LEFTS, row), readNumber(holds, TAKENS, row), readNumber(holds, UNTILS, row)
  -- What is left of a hold may be a part, and clocks that were set back have times before 1970.
  local isRight = isWhole(id, 1) and isWhole(amount, 1) and left >= 0 and left <= EXACT
  assertOwn(isRight and isWhole(takenMs, -EXACT, holds.lastTakenMs) and isWhole(untilMs, takenMs + 1, 2 * EXACT))
  return amount, math.min(left, holds.mostLeft), takenMs
end

local function readUntil(holds, row)
  return readNumber(holds, UNTILS, row)
end

-- A column of the first rows.
local function readColumn(holds, column, count)
  return readNumbers(holds.texts[column], holds.ats[column], count)
end

-- What is left of the first rows, and when they were taken.
local function readTaken(holds, count)
  local lefts, mostLeft = readColumn(holds, LEFTS, count), holds.mostLeft
  for row = 1, count do
    lefts[row] = math.min(lefts[row], mostLeft)
  end
  return lefts, readColumn(holds, TAKENS, count)
end

-- Rows of a column as a text.
local function cutColumn(holds, column, first, last)
  local text, at = holds.texts[column], holds.ats[column]
  if first == 1 and at == 1 and #text == 8 * last then
    return text
  end
  return string.sub(text, at + 8 * (first - 1), at + 8 * last - 1)
end

-- A copy of the holds, of which its caller changes some columns.
local function copyHolds(holds)
  local texts, ats = { (table.unpack or unpack)(holds.texts) }, { (table.unpack or unpack)(holds.ats) }
  return { texts = texts, ats = ats, count = holds.count, lastTakenMs = holds.lastTakenMs, mostLeft = holds.mostLeft }
end

local function setColumn(holds, column, numbers)
  holds.texts[column], holds.ats[column] = packNumbers(numbers, holds.count), 1
end

local function readHolds(value, at, count)
  local lastTakenMs, mostLeft = struct.unpack('<dd', value, at)
  assertOwn(isWhole(lastTakenMs, -EXACT) and mostLeft >= 0 and mostLeft <= EXACT)
  local holds = { texts = {}, ats = {}, count = count, lastTakenMs = lastTakenMs, mostLeft = mostLeft }
  for column = IDS, UNTILS do
    holds.texts[column], holds.ats[column] = value, at + 16 + 8 * count * (column - 1)
  end
  -- To read all of them would take longer than to decide: the others are judged when they are read.
  readRow(holds, 1)
  readRow(holds, count)
  return holds
end

-- What comes before the columns, and the columns.
local function writeHolds(holds)
  local count = holds.count
  return struct.pack('<ddd', -count - 0.5, holds.lastTakenMs, holds.mostLeft),
    cutColumn(holds, IDS, 1, count),
    cutColumn(holds, AMOUNTS, 1, count),
    cutColumn(holds, LEFTS, 1, count),
    cutColumn(holds, TAKENS, 1, count),
    cutColumn(holds, UNTILS, 1, count)
end

-- How many of the holds end at untilMs or before, by halves.
local function countUntil(holds, untilMs)
  local first, last = 1, holds.count
  while first <= last do
    local middle = math.floor((first + last) / 2)
    if readUntil(holds, middle) <= untilMs then
      first = middle + 1
    else
      last = middle - 1
    end
  end
  return last
end

-- The row of an id's hold, of several the first to expire; nothing where there is none.
local function findHold(holds, id)
  local first, text = holds and holds.ats[IDS], struct.pack('<d', id)
  local at = holds and string.find(holds.texts[IDS], text, first, true)
  while at and (at - first) % 8 ~= 0 do
    at = string.find(holds.texts[IDS], text, at + 1, true)
  end
  local row = at and (at - first) / 8 + 1
  return row and row <= holds.count and row or nil
end

-- The holds without one row, if it is given, and with new numbers, if those are given, behind the rows that end no later; nothing when none is left.
local function replaceHold(holds, row, numbers)
  local count, place = holds.count, holds.count + 1
  if numbers then
    place = countUntil(holds, numbers[UNTILS]) + 1
  elseif count == 1 then
    return nil
  end
  local replaced = copyHolds(holds)
  replaced.count = count + (numbers and 1 or 0) - (row and 1 or 0)
  for column = IDS, UNTILS do
    local text = numbers and struct.pack('<d', numbers[column]) or ''
    if row and row >= place then
      text = cutColumn(holds, column, 1, place - 1)
        .. text
        .. cutColumn(holds, column, place, row - 1)
        .. cutColumn(holds, column, row + 1, count)
    else
      text = cutColumn(holds, column, 1, (row or place) - 1)
        .. cutColumn(holds, column, (row or place - 1) + 1, place - 1)
        .. text
        .. cutColumn(holds, column, place, count)
    end
    replaced.texts[column], replaced.ats[column] = text, 1
  end
  return replaced
end

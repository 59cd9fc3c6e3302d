-- Lends the free worker id of first..last that was used least recently.
local first, last, holder = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]

if not onChange then
  local _, version = server()
  if tooOld(version) then return { 'VERSION', version } end
end
if not note() then return { 'MORE' } end
if quarantine >= now + ahead then return { 'QUARANTINE', str(now), str(quarantine - ahead + 1), why } end

-- Nobody waits for a call that arrives after its grant was given back: see release.lua.
if redis.call('HGET', meta, 'o:' .. string.reverse(owner)) then return { 'LOST' } end

-- A repeated call, after a lost reply, gets the same grant with the same floor, unless
-- the mark has been lost since.
local worker = redis.call('HGET', meta, 'o:' .. owner)
if worker then
  local rec, expires, ceiling = known(worker)
  if rec.owner == owner and ceiling > rec.floor and expires >= now + skew then
    return lend(worker, rec, rec.token, rec.floor, rec.since, rec.holder, ceiling, expires)
  end
end

-- A worker id is free when its lease has expired and its mark has passed. While the clock
-- has not passed the quarantine, the mark may lie ahead of the clock. soonest is the last
-- millisecond before the first worker id seen is free.
if quarantine < now then ahead = 0 end
local best, bestAt, bestMark, soonest = nil, nil, nil, math.huge
local function look(name, expires, value)
  value = num(value, 'mark of worker id ' .. name)
  local until_ = math.max(expires, value - ahead)
  soonest = math.min(soonest, until_)
  if until_ < now and (not best or expires < bestAt) then best, bestAt, bestMark = name, expires, value end
end

-- scan looks at worker ids in the order of their scores, and reports whether it decided.
local function scan(min, max)
  for from = 0, 1023, 64 do
    local page = redis.call('ZRANGEBYSCORE', lease, min, max, 'WITHSCORES', 'LIMIT', str(from), '64')
    local list, expires, final = {}, {}, 0
    for i = 1, #page, 2 do
      local n = num(page[i], 'a worker id among the leases', pool - 1)
      final = num(page[i + 1], 'expires of worker id ' .. page[i])
      if n >= first and n <= last then list[#list + 1], expires[#expires + 1] = page[i], final end
    end
    if #list > 0 then
      local values = redis.call('HMGET', mark, unpack(list))
      for i, name in ipairs(list) do
        look(name, expires[i], values[i])
        if best then return true end
      end
    end
    if #page < 128 or (final >= now and final >= soonest) then return true end
  end
  return false
end

-- sweep looks at all worker ids of the range.
local function sweep()
  for from = first, last, 500 do
    local list = names(from, math.min(from + 499, last))
    local scores, values = redis.call('ZMSCORE', lease, unpack(list)), redis.call('HMGET', mark, unpack(list))
    for i, name in ipairs(list) do look(name, num(scores[i], 'expires of worker id ' .. name), values[i]) end
  end
end

-- The score of a worker id that was never lent is its own number, below any time.
local decided = scan(str(first), str(last)) and (best or scan('1048576', '+inf'))
if not decided or soonest == math.huge then sweep() end
if not best then return { 'FULL', str(now), str(soonest + 1) } end

local former, floor = record(best), floorOf(bestMark)
return lend(best, former, nextToken(former.token, 0), floor, now, holder, ceilingOf(floor), now + ttl)

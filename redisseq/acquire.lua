-- Lends the free worker id of first..last that was used least recently.
local first, last, holder = tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12]

if not onChange then
  local _, version = server()
  if tooOld(version) then return { 'VERSION', version } end
end
note()
if not complete and not fill(pool) then return { 'MORE' } end
if quarantine >= now then return { 'QUARANTINE', str(now), str(quarantine + 1), why } end

-- Asked again after a lost reply: the same grant, its floor included.
local worker = redis.call('HGET', meta, 'o:' .. owner)
if worker then worker = str(num(worker, 'the worker id of owner ' .. owner, pool - 1)) end
local rec = worker and record(worker)
if rec and rec.owner == owner and score(redis.call('ZSCORE', lease, worker), worker) >= now + skew then
  local ceiling = num(redis.call('HGET', mark, worker), 'the mark of worker ' .. worker)
  -- Written anew, for WAIT to have something to wait for.
  redis.call('HSET', mark, worker, str(ceiling))
  return { 'OK', worker, rec.token, str(now), rec.floor, str(ceiling), rec.since }
end

-- A worker is free when both its lease and its mark are past. soonest is when the
-- first of those looked at will be.
local best, bestAt, soonest = nil, nil, math.huge
local function look(name, expires, value)
  local until_ = math.max(expires, num(value, 'the mark of worker ' .. name))
  soonest = math.min(soonest, until_)
  if until_ < now and (not best or expires < bestAt) then best, bestAt = name, expires end
end

-- scan looks in the order of the scores, and reports whether that decided it.
local function scan(min, max)
  for from = 0, 1023, 64 do
    local page = redis.call('ZRANGEBYSCORE', lease, min, max, 'WITHSCORES', 'LIMIT', str(from), '64')
    local list, expires, final = {}, {}, 0
    for i = 1, #page, 2 do
      local n = num(page[i], 'a worker id among the leases')
      if n >= pool or str(n) ~= page[i] then damaged('a worker id among the leases', page[i]) end
      final = score(page[i + 1], page[i])
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

-- sweep looks at all workers asked for.
local function sweep()
  for from = first, last, 500 do
    local list = names(from, math.min(from + 499, last))
    local scores, values = redis.call('ZMSCORE', lease, unpack(list)), redis.call('HMGET', mark, unpack(list))
    for i, name in ipairs(list) do look(name, score(scores[i], name), values[i]) end
  end
end

-- Who was never lent has its own number for a score, which is less than any time.
local decided = scan(str(first), str(last)) and (best or scan('1048576', '+inf'))
if not decided or soonest == math.huge then sweep() end
if not best then return { 'FULL', str(now), str(soonest + 1) } end

local former = record(best)
token = math.max(token, now) + 1
local floor, ceiling = now - 1, now + ttl -- mark and quarantine lie before now
redis.call('HSET', meta, 'tok', str(token))
redis.call('HSET', mark, best, str(ceiling))
redis.call('ZADD', lease, str(ceiling), best)
keep(best, former, owner, str(token), str(token), str(floor), str(now), holder)
return { 'OK', best, str(token), str(now), str(floor), str(ceiling), str(now) }

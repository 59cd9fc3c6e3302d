-- Writes what was decided from what load.lua returned, if nothing of that has changed since: the
-- record of the namespace, as 5 fields, and three records for each of count worker ids. Their values
-- follow the worker ids: first all that were loaded, then all that are to be. The script then creates
-- missing slots of a pool, if exactly those are missing that were: whoever pauses must not fill in
-- what was lost meanwhile.
local server, read, hold, seen = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local pool, from, count = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

-- What was decided by a clock must be on record by then, since a later loss counts from the clock too,
-- and soon, before the end of a change that it decides.
if now < read or now > read + 10000 or incarnation ~= server then return { 'CHANGED' } end
if pool > 0 and sizes() ~= seen then return { 'CHANGED' } end

local fields = { 'pin', 'run', 'prev', 'quar', 'why' }
local has = redis.call('HMGET', meta, unpack(fields))
for i = 10, 9 + count do
  local worker, at = ARGV[i], #has
  has[at + 1] = redis.call('ZSCORE', lease, worker)
  has[at + 2] = redis.call('HGET', mark, worker)
  has[at + 3] = redis.call('HGET', owners, worker)
end

-- shows reports whether the records are the values after ARGV[at].
local function shows(at)
  for i, value in ipairs(has) do
    if (value or '') ~= ARGV[at + i] then return false end
  end
  return true
end
local was = 9 + count
local is = was + #has
-- A client repeats a call whose reply was lost: then they are as they are to be.
if not shows(was) and not shows(is) then return { 'CHANGED' } end

for i, name in ipairs(fields) do
  if ARGV[is + i] ~= '' then
    redis.call('HSET', meta, name, ARGV[is + i])
  elseif has[i] then
    redis.call('HDEL', meta, name)
  end
end
for i = 1, count do
  local at = is + 2 + 3 * i
  put(ARGV[9 + i], ARGV[was + 5 + 3 * i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
if hold ~= '' then
  redis.call('HSET', mark, 'hold', hold)
  redis.call('HSET', owners, 'hold', hold)
end

-- Some thousand a call, so that the server is not blocked for long.
for n = from, math.min(from + 4096, pool) - 1 do
  local worker = str(n)
  redis.call('ZADD', lease, 'NX', worker, worker)
  for key, value in pairs({ [mark] = '0', [owners] = '0|0|0|0|' }) do
    if not redis.call('HGET', key, worker) then redis.call('HSET', key, worker, value) end
  end
end
return { 'OK', sizes() }

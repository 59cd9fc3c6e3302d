-- Writes what was decided from what load.lua returned, if nothing of that has changed since: the
-- record of the namespace, as 5 fields, and slots, each as a worker id and what the three keys had
-- and are to have. Then it creates the missing slots of a pool, if exactly those are missing: whoever
-- pauses must not fill in what was lost meanwhile.
local incarnation, read, pool, hold, seen = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]

writable()
-- What was decided by a clock must be on record by then, since a later loss counts from the clock too,
-- and soon, before the end of a change that it decides.
if now < read or now > read + 10000 or incarnation ~= '' and server() ~= incarnation then return { 'CHANGED' } end
local fields = { 'pin', 'run', 'prev', 'quar', 'why' }
local m = redis.call('HMGET', meta, unpack(fields))
if pool > 0 and table.concat(sizes(), ' ') ~= seen then return { 'CHANGED' } end

-- shows reports whether the records are those that stand from these arguments on.
local function shows(record, slot)
  for i = 1, 5 do
    if (m[i] or '') ~= ARGV[record + i] then return false end
  end
  for i = 16, #ARGV, 7 do
    local worker = ARGV[i]
    if (redis.call('ZSCORE', lease, worker) or '') ~= ARGV[i + slot] or (redis.call('HGET', mark, worker) or '') ~= ARGV[i + slot + 1]
      or (redis.call('HGET', owners, worker) or '') ~= ARGV[i + slot + 2] then
      return false
    end
  end
  return true
end
-- A client repeats a call whose reply was lost: then they are as they are to be.
if not shows(5, 1) and not shows(10, 4) then return { 'CHANGED' } end

for i, name in ipairs(fields) do
  local value = ARGV[10 + i]
  if value ~= '' then
    redis.call('HSET', meta, name, value)
  elseif m[i] then
    redis.call('HDEL', meta, name)
  end
end
for i = 16, #ARGV, 7 do
  put(ARGV[i], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6])
end
if hold ~= '' then
  redis.call('HSET', mark, 'hold', hold)
  redis.call('HSET', owners, 'hold', hold)
end
if pool == 0 then return { 'OK' } end

-- create creates the missing slots from..to, in steps, because unpack takes only some
-- thousand values.
local function create(from, to)
  for first = from, to, 500 do
    local list = names(first, math.min(first + 499, to))
    local scores = {}
    for _, name in ipairs(list) do
      scores[#scores + 1] = name
      scores[#scores + 1] = name
    end
    redis.call('ZADD', lease, 'NX', unpack(scores))
    for key, value in pairs({ [mark] = '0', [owners] = '0|0|0|0|' }) do
      local there, missing = redis.call('HMGET', key, unpack(list)), {}
      for i, name in ipairs(list) do
        if not there[i] then
          missing[#missing + 1] = name
          missing[#missing + 1] = value
        end
      end
      if #missing > 0 then redis.call('HSET', key, unpack(missing)) end
    end
  end
end

-- Some thousand a call, so that the server is not blocked for long.
local made = num(redis.call('HGET', meta, 'made') or '0', 'the number of records made', pool)
if made >= pool then made = 0 end
local to = math.min(made + 8192, pool)
create(made, to - 1)
redis.call('HSET', meta, 'made', str(to))
return { to == pool and 'OK' or 'MORE', table.concat(sizes(), ' ') }

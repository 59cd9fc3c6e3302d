-- Every script of a center starts with internal/redisconn/values.lua and this file. One
-- script is one atomic step of the protocol in lease/doc.go.
--
-- lease  ZSET  worker id -> when its lease expires (its own number if never lent)
-- mark   HASH  worker id -> time above which none of its ids lies
-- owners HASH  worker id -> owner|token|floor|since|holder
-- meta   HASH  pin, pool
--              run (the incarnation, see server.lua), prev (the one before)
--              quar (no grant starts at or below it), why (the reason)
--              init (the owner that opened the namespace)
--              made (the records of 0..made-1 have been created)
--              o:owner -> worker id
--
-- The first three always have an entry for each worker of the pool, so a loss shows in
-- their sizes. mark and owners also have the field hold: how long, in milliseconds, a grant may
-- last by the greatest pin that was on record, for when meta is lost.
local lease, mark, owners, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- Whatever a script reads of a record goes through num, parse or pinned.

-- parse reads the owner of a worker id. A free worker id has the owner '0'.
local function parse(worker, value)
  local owner, token, floor, since, holder = string.match(value or '', '^(%x+)|([^|]*)|([^|]*)|([^|]*)|(.*)$')
  if not owner then damaged('owner of worker id ' .. worker, value) end
  return {
    owner = owner, token = num(token, 'token of worker id ' .. worker), floor = num(floor, 'floor of worker id ' .. worker),
    since = num(since, 'since of worker id ' .. worker), holder = holder,
  }
end

local function record(worker) return parse(worker, redis.call('HGET', owners, worker)) end

-- pinned reads the pin, which a client parses.
local function pinned(value)
  if value and (value == '' or #value > 1024) then damaged('the pin', value) end
  return value
end

-- held reads the field hold of mark or owners.
local function held(key)
  local value = redis.call('HGET', key, 'hold')
  return value and num(value, 'hold of the namespace')
end

-- sizes counts the records. It fails on a key of another type, before any write.
local function sizes()
  redis.call('HLEN', meta)
  return redis.call('ZCARD', lease), redis.call('HLEN', mark) - (held(mark) and 1 or 0), redis.call('HLEN', owners) - (held(owners) and 1 or 0)
end

-- carry has mark and owners show how long grants may last.
local function carry(hold)
  for _, key in ipairs({ mark, owners }) do
    if (held(key) or 0) < hold then redis.call('HSET', key, 'hold', str(hold)) end
  end
end

-- keep replaces the owner rec of a worker id.
local function keep(worker, rec, owner, token, floor, since, holder)
  redis.call('HSET', owners, worker, table.concat({ owner, str(token), str(floor), str(since), holder }, '|'))
  if rec.owner ~= '0' and rec.owner ~= owner and redis.call('HGET', meta, 'o:' .. rec.owner) == worker then
    redis.call('HDEL', meta, 'o:' .. rec.owner)
  end
  if owner ~= '0' then redis.call('HSET', meta, 'o:' .. owner, worker) end
end

-- names returns the worker ids from..to as strings.
local function names(from, to)
  local list = {}
  for worker = from, to do list[#list + 1] = str(worker) end
  return list
end

-- create creates the missing records of the workers from..to, in steps, because unpack
-- takes only some thousand values.
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

-- fill creates records and reports whether the pool is complete. It creates some thousand
-- per call, so that it does not block the server for long.
local function fill(pool)
  local made = num(redis.call('HGET', meta, 'made') or '0', 'the number of records made', pool)
  if made >= pool then made = 0 end
  local to = math.min(made + 8192, pool)
  create(made, to - 1)
  redis.call('HSET', meta, 'made', str(to))
  return to == pool
end

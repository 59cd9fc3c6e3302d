-- Every script of a center starts with internal/redisconn/values.lua and this file. One
-- script is one atomic step. What is decided is decided in Go: see internal/engine.
--
-- lease  ZSET  worker id -> when its lease expires (its own number if never lent)
-- mark   HASH  worker id -> time above which none of its ids lies
-- owners HASH  worker id -> owner|token|floor|since|holder
-- meta   HASH  pin
--              run (the incarnation, see server.lua), prev (the one before)
--              quar (no grant starts at or below it), why (the reason)
--              made (the records of 0..made-1 have been created)
--              o:owner -> worker id
--
-- The first three always have an entry for each worker of the pool, so a loss shows in
-- their sizes. mark and owners also have the field hold, for when meta is lost: max_ttl + skew of
-- the pin in milliseconds, a slash, and as much of that as grants keep to.
local lease, mark, owners, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- PERSIST is a write that changes nothing, because the keys have no TTL. A replica, a
-- full disk or too few replicas refuse it here, before anything is decided by stale data
-- or half of the changes are written.
local function writable()
  for i = 1, 4 do redis.call('PERSIST', KEYS[i]) end
end

-- sizes returns how many worker ids have a record in each of the three keys.
local function sizes()
  return {
    redis.call('ZCARD', lease),
    redis.call('HLEN', mark) - (redis.call('HGET', mark, 'hold') and 1 or 0),
    redis.call('HLEN', owners) - (redis.call('HGET', owners, 'hold') and 1 or 0),
  }
end

-- names returns the worker ids from..to as strings.
local function names(from, to)
  local list = {}
  for worker = from, to do list[#list + 1] = str(worker) end
  return list
end

-- put writes the three records of a worker id, of which the owner was another.
local function put(worker, was, expires, ceiling, record)
  local former, owner = string.match(was, '^%x+'), string.match(record, '^%x+')
  redis.call('ZADD', lease, expires, worker)
  redis.call('HSET', mark, worker, ceiling)
  redis.call('HSET', owners, worker, record)
  if former and former ~= '0' and former ~= owner and redis.call('HGET', meta, 'o:' .. former) == worker then
    redis.call('HDEL', meta, 'o:' .. former)
  end
  if owner ~= '0' then redis.call('HSET', meta, 'o:' .. owner, worker) end
end

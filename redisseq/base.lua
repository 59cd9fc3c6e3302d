-- Every script of a center starts with internal/redisconn/prelude.lua and this file. One
-- script is one atomic step. What is decided is decided in Go: see internal/engine.
--
-- lease  ZSET  worker id -> when its lease expires (its own number if never lent)
-- mark   HASH  worker id -> time above which none of its ids lies
-- owners HASH  worker id -> owner|token|floor|since|holder
-- meta   HASH  pin
--              run (the incarnation, see prelude.lua), prev (the one before)
--              quar (no grant starts at or below it), why (the reason)
--              o:owner -> worker id
--
-- The first three always have an entry for each worker of the pool, so a loss shows in
-- their sizes. mark and owners also have the field hold, for when meta is lost: max_ttl + skew of
-- the pin in milliseconds, as much of that as grants keep to, layout and pool, with slashes between.
local lease, mark, owners, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- sizes returns how many entries the first three keys have.
local function sizes()
  return redis.call('ZCARD', lease) .. ' ' .. redis.call('HLEN', mark) .. ' ' .. redis.call('HLEN', owners)
end

-- put writes the three records of a worker id, of which the owner was another.
local function put(worker, was, expires, ceiling, record)
  local former, owner = string.match(was, '^%x+'), string.match(record, '^%x+')
  redis.call('ZADD', lease, expires, worker)
  redis.call('HSET', mark, worker, ceiling)
  redis.call('HSET', owners, worker, record)
  if former ~= owner and former and redis.call('HGET', meta, 'o:' .. former) == worker then
    redis.call('HDEL', meta, 'o:' .. former)
  end
  if owner ~= '0' then redis.call('HSET', meta, 'o:' .. owner, worker) end
end

-- Raises the ceiling of a grant; after a loss of records gives the worker id back
-- to a holder whose ceiling proves that it is the last one.
local worker, presented = ARGV[10], ARGV[11]
local floor, ceiling, since, holder = ARGV[12], tonumber(ARGV[13]), ARGV[14], ARGV[15]

local rec, expires, old = known(worker)
note()
if not complete then
  fill(pool)
  create(tonumber(worker), tonumber(worker))
end

-- The former token is that of a holder whose re-take was applied and its reply lost.
local mine = rec.owner == owner and (rec.token == presented or rec.former == presented)
local current = mine and rec.token
if not (mine and expires >= now + skew) then
  -- Where the clock has stepped back: the holder's ceiling lay ahead when the quarantine
  -- began, and the worker was not lent after it had ended.
  if quarantine < now or ceiling <= now + skew or ceiling <= quarantine - wait + skew then return { 'LOST', str(now) } end
  if rec.owner ~= '0' and expires >= now then return { 'QUARANTINE', str(now), str(quarantine + 1), why } end
  if old > quarantine then return { 'LOST', str(now) } end
  token = math.max(token, now, tonumber(presented)) + 1
  current = str(token)
  redis.call('HSET', meta, 'tok', current)
  keep(worker, rec, owner, current, presented, floor, since, holder)
end

ceiling = math.max(old, ceiling, now + ttl)
redis.call('HSET', mark, worker, str(ceiling))
redis.call('ZADD', lease, str(math.max(expires, now + ttl)), worker)
return { 'OK', current, str(now), str(ceiling) }

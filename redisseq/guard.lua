-- Checks before acquire, renew and release: the clocks, whether this server accepts
-- writes, the pin, and whether records were lost.
local pin, pool, wait, skew = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local onChange, caller, off = ARGV[5] == 'on-change', tonumber(ARGV[6]), tonumber(ARGV[7])
local owner, ttl, maxTTL, ahead = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

if caller ~= 0 and math.abs(now - caller) > off then return { 'CLOCK', str(now) } end

-- PERSIST is a write that changes nothing, because the keys have no TTL. A replica, a
-- full disk or too few replicas refuse it here, before the script decides by stale data
-- or writes half of its changes.
for i = 1, 4 do redis.call('PERSIST', KEYS[i]) end

local leases, marks, owned = sizes()
local m = redis.call('HMGET', meta, 'pin', 'run', 'prev', 'quar', 'why')
if pinned(m[1]) and m[1] ~= pin then return { 'MISMATCH', m[1] } end
local hold = math.max(held(mark) or 0, held(owners) or 0)
if not m[1] and hold > wait then return { 'HOLD', str(hold) } end -- the pin allows for too little
if math.max(leases, marks, owned) > pool then
  damaged('the number of records for a pool of ' .. str(pool), str(math.max(leases, marks, owned)))
end

local run, why = m[2], nil
local quarantine = m[4] and num(m[4], 'the quarantine') or 0

if onChange then
  local id, version = server()
  if tooOld(version) then return { 'VERSION', version } end
  if not id then return { 'NORUNID' } end
  if m[1] and run ~= id then
    if not run or run == '' then
      why = 'the incarnation of the store was not on record'
    elseif m[3] == id and quarantine >= now then
      why = 'the incarnation of the store flips between ' .. run .. ' and ' .. id ..
        ' (a proxy, or several servers that answer in turn): if none of them loses an acknowledged write, set quarantine: never'
    else
      why = 'the incarnation of the store changed from ' .. run .. ' to ' .. id
    end
  end
  if run ~= id then m[3] = run end
  run = id
end

local complete = math.min(leases, marks, owned) == pool
if not m[1] and leases + marks + owned == 0 then
  why = 'nothing is on record for this namespace'
elseif not (m[1] and m[4]) then
  why = 'the meta record of the namespace was missing'
elseif not complete then
  why = string.format('slot records were missing: of %.0f leases %.0f, marks %.0f, owners %.0f',
    pool, pool - leases, pool - marks, pool - owned)
end

-- known reads the records of a worker id. Missing ones read as those that fill creates.
local function known(worker)
  local held, expires, last = redis.call('HGET', owners, worker), redis.call('ZSCORE', lease, worker), redis.call('HGET', mark, worker)
  if not complete then held, expires, last = held or '0|0|0|0|', expires or worker, last or '0' end
  return parse(worker, held), num(expires, 'expires of worker id ' .. worker), num(last, 'mark of worker id ' .. worker)
end

-- note records a loss and reports whether all records exist again. Call it after the
-- records that the script needs were found undamaged.
local function note()
  if why then
    -- Every grant that may have been forgotten lies at or below this time.
    quarantine = math.max(quarantine, now + wait)
    redis.call('HSET', meta, 'pin', pin, 'pool', str(pool), 'run', run or '', 'prev', m[3] or '',
      'quar', str(quarantine), 'why', why)
    carry(wait)
  end
  why = why or m[5] or 'the reason was not on record'
  return complete or fill(pool)
end

-- floorOf returns the floor of a new range: at least the mark of the worker id, the
-- quarantine, and the millisecond before now.
local function floorOf(value) return math.max(value, quarantine, now - 1) end

-- ceilingOf returns TTL from now, or from a floor that lies ahead of the clock. It never
-- exceeds now + MaxTTL, because a quarantine must cover every ceiling.
local function ceilingOf(floor) return math.max(now + ttl, math.min(floor + ttl, now + maxTTL)) end

-- nextToken returns a token above the present ones.
local function nextToken(one, other) return math.max(one, other, now) + 1 end

-- lend records a grant in place of rec and returns it. It writes even if nothing changes,
-- so that WAIT has a write to wait for.
local function lend(worker, rec, token, floor, since, holder, ceiling, expires)
  redis.call('HSET', mark, worker, str(ceiling))
  redis.call('ZADD', lease, str(expires), worker)
  keep(worker, rec, owner, token, floor, since, holder)
  return { 'OK', worker, str(token), str(now), str(floor), str(ceiling), str(since) }
end

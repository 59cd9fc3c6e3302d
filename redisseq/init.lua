-- Opens a namespace that is known to be new, or gives one in which nothing was ever lent
-- another pin.
local pin, pool, owner = ARGV[1], tonumber(ARGV[2]), ARGV[8]
local onChange, caller, off = ARGV[5] == 'on-change', tonumber(ARGV[6]), tonumber(ARGV[7])

if caller ~= 0 and math.abs(now - caller) > off then return { 'CLOCK', str(now) } end
local id, version = server()
if tooOld(version) then return { 'VERSION', version } end
if onChange and not id then return { 'NORUNID' } end

-- unused reports whether the records are complete and show no loss, and nothing was ever
-- lent: the score of each worker id is its own number.
local function unused()
  local m = redis.call('HMGET', meta, 'pin', 'pool', 'quar', 'run', 'made')
  if not pinned(m[1]) or m[1] == pin then return false end
  local leases, marks, owned = sizes()
  local count = str(leases)
  return marks == leases and owned == leases and m[2] == count and m[5] == count and
    string.find(m[1], '} pool=' .. count .. ' max_ttl=', 1, true) and
    m[3] == '0' and not (onChange and m[4] ~= id) and
    #redis.call('ZRANGEBYSCORE', lease, count, '+inf', 'LIMIT', '0', '1') == 0
end

local again = redis.call('TYPE', meta).ok == 'hash' and unused()
if again and redis.call('ZCARD', lease) > pool then
  local gone = redis.pcall('UNLINK', lease, mark, owners)
  if type(gone) == 'table' then return redis.error_reply('ERR UNLINK, to have fewer worker ids than before: ' .. gone.err) end
end

local there = redis.call('EXISTS', lease, mark, owners, meta) > 0
-- What an earlier step of this call created is lost, and others may have used it meanwhile.
if not there and ARGV[12] == 'more' then return { 'EXISTS' } end

if there and not again then
  -- A repeated call, to continue after MORE or after a lost reply.
  if redis.call('TYPE', meta).ok ~= 'hash' or redis.call('HGET', meta, 'init') ~= owner then return { 'EXISTS' } end
  if redis.call('HGET', meta, 'made') == str(pool) then return { 'OK' } end
  sizes()
else
  redis.call('HSET', meta, 'pin', pin, 'pool', str(pool), 'run', id or '', 'prev', '',
    'quar', '0', 'why', '', 'init', owner, 'made', '0')
end
return { fill(pool) and 'OK' or 'MORE' }

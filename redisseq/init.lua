-- Opens a namespace that is known to be new.
local pin, pool, owner = ARGV[1], tonumber(ARGV[2]), ARGV[8]
local onChange, caller, off = ARGV[5] == 'on-change', tonumber(ARGV[6]), tonumber(ARGV[7])

if caller ~= 0 and math.abs(now - caller) > off then return { 'CLOCK', str(now) } end
local id, version = server()
if tooOld(version) then return { 'VERSION', version } end
if onChange and not id then return { 'NORUNID' } end

local there = redis.call('EXISTS', lease, mark, owners, meta) > 0
-- What an earlier step of this call created is lost, and others may have used it meanwhile.
if not there and ARGV[12] == 'more' then return { 'EXISTS' } end

if there then
  -- A repeated call, to continue after MORE or after a lost reply.
  if redis.call('TYPE', meta).ok ~= 'hash' or redis.call('HGET', meta, 'init') ~= owner then return { 'EXISTS' } end
  if redis.call('HGET', meta, 'made') == str(pool) then return { 'OK' } end
  sizes()
else
  redis.call('HSET', meta, 'pin', pin, 'pool', str(pool), 'run', id or '', 'prev', '',
    'quar', '0', 'why', '', 'init', owner, 'made', '0')
  carry(tonumber(ARGV[3]))
end
return { fill(pool) and 'OK' or 'MORE' }

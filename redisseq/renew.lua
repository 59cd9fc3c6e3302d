-- Extends a grant if the record of the namespace and the grant's own are as its holder believes, and
-- allow for that. Otherwise it changes nothing: then the records are loaded.
local pin, worker, held, floor, ceiling = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local skew, ttl, maxTTL = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local m = redis.call('HMGET', meta, 'pin', 'run', 'quar')
local expires, value, owner = redis.call('ZSCORE', lease, worker), redis.call('HGET', mark, worker), redis.call('HGET', owners, worker)
if m[1] ~= pin or not m[3] or not (expires and value and owner) or string.sub(owner, 1, #held) ~= held then return { 'CHANGED' } end
if incarnation ~= '' and m[2] ~= incarnation then return { 'CHANGED' } end
expires, value = num(expires, 'expires of worker id ' .. worker), num(value, 'mark of worker id ' .. worker)
if num(m[3], 'the quarantine') > floor or expires < now + skew then return { 'CHANGED' } end

ceiling = math.max(value, ceiling, now + ttl, math.min(floor + ttl, now + maxTTL))
redis.call('HSET', mark, worker, str(ceiling))
redis.call('ZADD', lease, str(math.max(expires, now + ttl)), worker)
return { 'OK', str(now), str(ceiling) }

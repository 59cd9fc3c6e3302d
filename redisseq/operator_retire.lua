-- Sets a pin that no member has, so that nothing is lent.
local pin, retired = ARGV[1], ARGV[2]
local stored = redis.call('HGET', meta, 'pin')
if not stored then return { 'UNKNOWN' } end
if pinned(stored) ~= pin then return { 'CHANGED' } end
redis.call('HSET', meta, 'pin', retired)
return { 'OK' }

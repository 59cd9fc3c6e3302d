-- Replaces the pin, if it is the given one. Whoever raises it gives the new hold.
local pin, new, hold = ARGV[1], ARGV[2], tonumber(ARGV[3])
local stored = pinned(redis.call('HGET', meta, 'pin'))
if not stored then return { 'UNKNOWN' } end
if stored ~= pin then return { 'CHANGED' } end
sizes()
carry(hold)
redis.call('HSET', meta, 'pin', new)
return { 'OK' }

-- Replaces the pin, if it is the given one, and prolongs the quarantine.
local pin, new, more = ARGV[1], ARGV[2], tonumber(ARGV[3])
local m = redis.call('HMGET', meta, 'pin', 'quar')
if not m[1] then return { 'UNKNOWN' } end
if pinned(m[1]) ~= pin then return { 'CHANGED' } end
local quarantine = m[2] and num(m[2], 'the quarantine') or 0
if more > 0 and quarantine > 0 then redis.call('HSET', meta, 'quar', str(quarantine + more)) end
redis.call('HSET', meta, 'pin', new)
return { 'OK' }

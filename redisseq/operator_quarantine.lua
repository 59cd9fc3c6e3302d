-- Starts or extends a quarantine, if the pin is the given one.
local pin, wait, why = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local m = redis.call('HMGET', meta, 'pin', 'quar')
if not m[1] then return { 'UNKNOWN' } end
if m[1] ~= pin then return { 'CHANGED' } end
local quarantine = math.max(m[2] and num(m[2], 'the quarantine') or 0, now + wait)
redis.call('HSET', meta, 'quar', str(quarantine), 'why', why)
return { 'OK' }

-- Replaces the pin, if it is the given one. Whoever raises it gives the new hold. If wait is not 0,
-- the new pin ends with that time. Where a change ends (sound), only if nothing was lost.
local pin, new, hold, wait, sound, pool = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local stored = pinned(redis.call('HGET', meta, 'pin'))
if not stored then return { 'UNKNOWN' } end
local leases, marks, owned = sizes()
if stored ~= pin then return { 'CHANGED' } end
if sound ~= '' and (math.min(leases, marks, owned) < pool or sound == 'on-change' and redis.call('HGET', meta, 'run') ~= server()) then
  return { 'CHANGED' }
end
if wait > 0 then new = new .. str(now + wait) end
carry(hold)
redis.call('HSET', meta, 'pin', new)
return { 'OK', new }

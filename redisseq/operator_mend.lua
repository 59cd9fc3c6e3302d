-- Lowers times that no member can have written to the latest possible ones, for the
-- namespace and up to 500 workers that start with the given one.
local pin, pool, wait, caller = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local off, from = tonumber(ARGV[5]), tonumber(ARGV[6])
if caller ~= 0 and math.abs(now - caller) > off then return { 'CLOCK', str(now) } end
local m = redis.call('HMGET', meta, 'pin', 'quar')
if not m[1] then return { 'UNKNOWN' } end
if m[1] ~= pin then return { 'CHANGED' } end

local latest = now + wait
if num(m[2] or '0', 'the quarantine') > latest then redis.call('HSET', meta, 'quar', str(latest)) end

for _, worker in ipairs(names(from, math.min(from + 499, pool - 1))) do
  local expires, value = redis.call('ZSCORE', lease, worker), redis.call('HGET', mark, worker)
  local held = redis.call('HGET', owners, worker)
  if expires and value and held then -- acquire and renew handle missing records
    expires, value = score(expires, worker), num(value, 'the mark of worker ' .. worker)
    local rec = parse(worker, held)
    if expires > latest then redis.call('ZADD', lease, str(latest), worker) end
    if expires < now and math.max(value, rec.token, rec.since) > latest then
      redis.call('HSET', mark, worker, str(math.min(value, latest)))
      keep(worker, rec, '0', math.min(rec.token, now), 0, 0, '')
    end
  end
end
return { 'OK' }

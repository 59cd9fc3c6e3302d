-- Takes a worker id back from its holder. The mark stays.
local worker, token = ARGV[1], ARGV[2]
sizes()
local held = redis.call('HGET', owners, worker)
local rec = held and parse(worker, held)
if not rec or rec.since == 0 or rec.token ~= tonumber(token) then return { 'LOST' } end
local expires = num(redis.call('ZSCORE', lease, worker) or '0', 'expires of worker id ' .. worker)
redis.call('ZADD', lease, 'XX', str(math.min(expires, now - 1)), worker)
keep(worker, rec, '0', rec.token, 0, 0, '')
return { 'OK' }

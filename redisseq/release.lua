-- Gives a worker id back. Its mark becomes the last use. It is free at once, and last in
-- the order of use. Until it is lent again, it has the reversed owner, to which nothing more is lent.
local worker, presented, used = ARGV[12], tonumber(ARGV[13]), ARGV[14]

local rec = known(worker)
note()
if rec.owner ~= owner or rec.token ~= presented then return { 'LOST', str(now) } end
redis.call('HSET', mark, worker, used)
redis.call('ZADD', lease, str(now - 1), worker)
keep(worker, rec, string.reverse(owner), rec.token, 0, 0, '')
return { 'OK' }

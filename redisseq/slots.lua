-- Returns up to 500 slots of the pool that is pinned, starting with the given one.
local from = tonumber(ARGV[1])
local pin = pinned(redis.call('HGET', meta, 'pin'))
local known = pin and string.match(pin, '} pool=(%d+) max_ttl=') or redis.call('HGET', meta, 'pool')
local pool = known and num(known, 'the pool', 1048576) or redis.call('ZCARD', lease)
local reply = { 'OK', str(now), str(pool) }
if from >= pool then return reply end

local list = names(from, math.min(from + 499, pool - 1))
local scores, values = redis.call('ZMSCORE', lease, unpack(list)), redis.call('HMGET', mark, unpack(list))
local holders = redis.call('HMGET', owners, unpack(list))
for i, name in ipairs(list) do
  local rec = parse(name, holders[i] or '0|0|0|0|')
  reply[#reply + 1] = str(num(scores[i] or '0', 'expires of worker id ' .. name))
  reply[#reply + 1] = str(num(values[i] or '0', 'mark of worker id ' .. name))
  reply[#reply + 1] = str(rec.token)
  reply[#reply + 1] = str(rec.since)
  reply[#reply + 1] = rec.holder
end
return reply

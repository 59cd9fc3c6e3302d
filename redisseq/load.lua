-- Returns the record of a namespace, the sizes of its keys, and the records of worker ids: the given
-- ones, those of two owners, and by least score up to count of those from first to last that were
-- never lent, and of those that were lent.
local owner, spent, first, last = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local skip, offset, count = tonumber(ARGV[7]), ARGV[8], ARGV[9]
local names = { unpack(ARGV, 10) }

local function add(list)
  for _, name in ipairs(list) do
    if name then names[#names + 1] = name end
  end
end

add(redis.call('HMGET', meta, 'o:' .. owner, 'o:' .. spent))
-- The score of a worker id that was never lent is its own number, below any time.
add(redis.call('ZRANGEBYSCORE', lease, first, last, 'LIMIT', '0', count))
local most = '+inf'
if skip > 0 then -- others were faster: some of those whose leases have ended
  offset, most = str(skip % math.max(1, redis.call('ZCARD', lease))), str(now - 1)
end
local lent = redis.call('ZRANGEBYSCORE', lease, '1048576', most, 'LIMIT', offset, count)
add(lent)

local reply = {
  'OK', str(now), incarnation, sizes(), redis.call('HGET', mark, 'hold'), redis.call('HGET', owners, 'hold'),
  redis.call('HMGET', meta, 'pin', 'run', 'prev', 'quar', 'why'), #lent,
}
if #names > 0 then
  reply[9], reply[10], reply[11] = names, redis.call('ZMSCORE', lease, unpack(names)), redis.call('HMGET', mark, unpack(names))
  reply[12] = redis.call('HMGET', owners, unpack(names))
end
return reply

-- Returns the record of a namespace, how many slots are on record, and those that a call needs.
local writes, compares = ARGV[1] == 'writes', ARGV[2] == '1'
local from, to, worker, owner, spent = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local first, last, skip, offset, count, pool = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])

if writes then writable() end
local id, version = server()
if tooOld(version) then return { 'VERSION', version } end
if compares and not id then return { 'NORUNID' } end

local m = redis.call('HMGET', meta, 'pin', 'run', 'prev', 'quar', 'why')
local shown = { redis.call('HGET', mark, 'hold'), redis.call('HGET', owners, 'hold') }
local size = sizes()
local reply = { 'OK', str(now), compares and id or '', str(size[1]), str(size[2]), str(size[3]), shown[1] or '', shown[2] or '',
  m[1] or '', m[2] or '', m[3] or '', m[4] or '', m[5] or '', '' }
local more = #reply

-- add adds the records of worker ids to the reply.
local seen = {}
local function add(list)
  local new = {}
  for _, name in ipairs(list) do
    if not seen[name] then seen[name], new[#new + 1] = true, name end
  end
  if #new == 0 then return end
  local expires, marks, held = redis.call('ZMSCORE', lease, unpack(new)), redis.call('HMGET', mark, unpack(new)), redis.call('HMGET', owners, unpack(new))
  for i, name in ipairs(new) do
    for _, value in ipairs({ name, expires[i] or '', marks[i] or '', held[i] or '' }) do reply[#reply + 1] = value end
  end
end

if to >= from then add(names(from, to)) end
if worker ~= '' then add({ worker }) end
if count == 0 then return reply end

for _, name in ipairs({ owner, spent }) do
  local at = redis.call('HGET', meta, 'o:' .. name)
  if at then add({ at }) end
end
-- Missing ones are created if one of them is lent.
local other = first + skip % (last - first + 1)
if math.min(unpack(size)) < pool then add(names(other, math.min(other + count - 1, last))) end

-- The score of a worker id that was never lent is its own number, below any time.
local never = redis.call('ZRANGEBYSCORE', lease, str(other), str(last), 'LIMIT', '0', str(count))
if #never == 0 and skip > 0 then never = redis.call('ZRANGEBYSCORE', lease, str(first), str(last), 'LIMIT', '0', str(count)) end
add(never)

-- lent returns those that were lent by least score, but for the first pass.
local function lent(most, pass)
  return redis.call('ZRANGEBYSCORE', lease, '1048576', most, 'WITHSCORES', 'LIMIT', str(pass), str(count))
end
local page = {}
if skip > 0 and size[1] > 0 then page = lent(str(now - 1), skip % size[1]) end
if #page > 0 then
  reply[more] = '0' -- these alone do not show that none is free
else
  page = lent('+inf', offset)
  if #page == 2 * count then reply[more] = page[#page] end
end
local list = {}
for i = 1, #page, 2 do list[#list + 1] = page[i] end
add(list)
return reply

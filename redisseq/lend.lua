-- Lends the free worker id of first..last that was used least recently, if its member needs what is on
-- record and nothing else is due: no loss, no quarantine, no change of the pin, no earlier call of the
-- owner. Otherwise it changes nothing: then the records are loaded.
local pin, compares, pool, owner, spent, holder = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local first, last, ttl, caller, off = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

-- int reads a number, or nothing if no script wrote it.
local function int(text) return text and #text <= 15 and string.find(text, '^%d+$') and tonumber(text) end

writable()
local m = redis.call('HMGET', meta, 'pin', 'run', 'quar', 'o:' .. owner, 'o:' .. spent)
if m[1] ~= pin or (int(m[3]) or now) >= now or m[4] or m[5] or caller ~= 0 and math.abs(now - caller) > off then return { 'LOAD' } end
if compares then
  local id = server()
  if not id then return { 'NORUNID' } end
  if m[2] ~= id then return { 'LOAD' } end
end
if redis.call('ZCARD', lease) ~= pool then return { 'LOAD' } end
for _, key in ipairs({ mark, owners }) do
  if redis.call('HLEN', key) ~= pool + 1 then return { 'LOAD' } end -- with the field hold
end

-- The score of a worker id that was never lent is its own number, below any time.
local free = redis.call('ZRANGEBYSCORE', lease, str(first), str(last), 'LIMIT', '0', '1')
if #free == 0 then free = redis.call('ZRANGEBYSCORE', lease, '1048576', str(now - 1), 'LIMIT', '0', '16') end
for _, worker in ipairs(free) do
  local was = redis.call('HGET', owners, worker) or ''
  local n, value, token = int(worker), int(redis.call('HGET', mark, worker)), int(string.match(was, '^%x+|([^|]*)|') or false)
  if not (n and value and token) then return { 'LOAD' } end
  if n >= first and n <= last and value < now then
    token = math.max(token, now) + 1
    put(worker, was, str(now + ttl), str(now + ttl), table.concat({ owner, str(token), str(now - 1), str(now), holder }, '|'))
    return { 'OK', worker, str(token), str(now), str(now - 1), str(now + ttl), str(now) }
  end
end
return { 'LOAD' }

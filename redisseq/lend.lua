-- Lends the free worker id of first..last that was used least recently, if its member needs what is on
-- record and nothing else is due: no loss, no quarantine, no change of the pin, no earlier call of the
-- owner. Otherwise it changes nothing: then the records are loaded.
local pin, pool, owner, spent, holder = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local first, last, ttl, caller, off = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])

-- int reads a number, or nothing if no script wrote it.
local function int(text) return text and #text <= 15 and string.find(text, '^%d+$') and tonumber(text) end

local m = redis.call('HMGET', meta, 'pin', 'run', 'quar', 'o:' .. owner, 'o:' .. spent)
if m[1] ~= pin or (int(m[3]) or now) >= now or m[4] or m[5] or caller ~= 0 and math.abs(now - caller) > off then return { 'CHANGED' } end
if incarnation ~= '' and m[2] ~= incarnation then return { 'CHANGED' } end
if sizes() ~= pool .. ' ' .. pool + 1 .. ' ' .. pool + 1 then return { 'CHANGED' } end -- with the fields hold

-- The score of a worker id that was never lent is its own number, below any time.
local free = redis.call('ZRANGEBYSCORE', lease, str(first), str(last), 'LIMIT', '0', '1')
if #free == 0 then free = redis.call('ZRANGEBYSCORE', lease, '1048576', str(now - 1), 'LIMIT', '0', '16') end
for _, worker in ipairs(free) do
  local was = redis.call('HGET', owners, worker) or ''
  local n, value, token = int(worker), int(redis.call('HGET', mark, worker)), int(string.match(was, '^%x+|([^|]*)|') or false)
  if not (n and value and token) then return { 'CHANGED' } end
  if n >= first and n <= last and value < now then
    token = math.max(token, now) + 1
    put(worker, was, str(now + ttl), str(now + ttl), table.concat({ owner, str(token), str(now - 1), str(now), holder }, '|'))
    return { 'OK', worker, str(token), str(now), str(now - 1), str(now + ttl), str(now) }
  end
end
return { 'CHANGED' }

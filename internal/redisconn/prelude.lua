-- Start of every script. ARGV[1] says whether incarnations are compared, ARGV[2] whether the script
-- may write. Times are Unix milliseconds of this server's clock.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- PERSIST is a write that changes nothing, because the keys have no TTL. A replica, a full disk or
-- too few replicas refuse it here, before anything is decided by stale data or half of the changes
-- are written.
if ARGV[2] == '1' then
  for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
end

-- incarnation identifies this server, or is '' if incarnations are not compared. A restart changes
-- run_id. A promotion changes master_replid, even if this process was the master before. Redis 6.2
-- accepts one section per call.
local incarnation = ''
if ARGV[1] == '1' then
  local info, link = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
  local replid = type(link) == 'string' and string.match(link, 'master_replid:(%w+)')
  if not (run and replid) then return { 'NORUNID' } end
  incarnation = run .. '/' .. replid
end

-- str formats an integer; tostring would write 1.7e+12.
local function str(n) return string.format('%.0f', n) end

-- damaged ends the script. The client shows the text between the brackets.
local function damaged(what, value)
  local shown = string.gsub(string.sub(tostring(value), 1, 60), '[^%w%p ]', '?')
  error('snowlease<' .. what .. ' is "' .. shown .. '"> end', 0)
end

-- num reads a number that a script wrote: digits, below 1e15 unless most is given, and exact.
local function num(value, what, most)
  local n = value and #value <= 16 and string.find(value, '^%d+$') and tonumber(value)
  if not n or n > (most or 999999999999999) then damaged(what, value) end
  return n
end

-- Gives up to n numbers of the current segment, and tells one caller to fetch the next segment; or,
-- with the verb install, installs n numbers from a first one on. The hash always has these fields:
--
-- run           incarnation of the server that the segments were installed on
-- first, len    the current segment; with length 0, the greatest number known
-- used, since   how many of its numbers were given, and since when
-- nfirst, nlen  the next segment; 0 if none
-- want, at      caller that fetches a segment, and since when; '' if none, 'failed' after
--               a failure
local verb, me, n, above, patience, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8]
local fields = { 'run', 'first', 'len', 'used', 'since', 'nfirst', 'nlen', 'want', 'at' }
local has = redis.call('HMGET', key, unpack(fields))
local h, lost = {}, false
for i, name in ipairs(fields) do
  h[name] = has[i]
  lost = lost or not has[i]
end

local top = '0' -- the last number of the last segment
if not lost then
  for _, name in ipairs({ 'len', 'used', 'since', 'nlen', 'at' }) do h[name] = num(h[name], name .. ' of the dispenser') end
  for _, name in ipairs({ 'first', 'nfirst' }) do decimal(h[name], name .. ' of the dispenser') end
  if h.used > h.len then damaged('used of the dispenser', str(h.used)) end
  top = h.nlen > 0 and plus(h.nfirst, h.nlen - 1) or h.len > 0 and plus(h.first, h.len - 1) or h.first
  -- Another server may have given numbers of these segments.
  lost = incarnation ~= '' and h.run ~= incarnation
end

local function keep()
  for i, name in ipairs(fields) do
    local value = type(h[name]) == 'number' and str(h[name]) or h[name]
    if value ~= has[i] then redis.call('HSET', key, name, value) end
  end
end

if verb == 'install' then
  -- Only the caller that this state told to fetch installs its segment, or reports with length 0 that
  -- it has none. Hence no segment is installed twice, or on two servers. Others are skipped.
  if lost or h.want ~= me then return { 'OK' } end
  h.want = ''
  if n == 0 then
    h.want, h.at = 'failed', now
  elseif h.used == h.len then
    h.first, h.len, h.used, h.since = above, n, 0, now
  else
    h.nfirst, h.nlen = above, n
  end
  keep()
  return { 'OK' }
end

-- A caller that knows a greater number than the next one has seen a later state.
local following = not lost and (h.used < h.len and plus(h.first, h.used) or h.nlen > 0 and h.nfirst)
if lost or following and not less(above, following) then
  if less(top, above) then top = above end
  h = { run = incarnation, first = top, len = 0, used = 0, since = now, nfirst = '0', nlen = 0, want = '', at = now }
end

-- How fast the last segment was used up determines the size of the next.
local consumed, lasted = 0, 0
if h.used == h.len then
  consumed, lasted = h.len, math.max(0, now - h.since)
  if h.nlen > 0 then h.first, h.len, h.used, h.since, h.nfirst, h.nlen = h.nfirst, h.nlen, 0, now, '0', 0 end
end

local count = math.min(n, h.len - h.used)
local from = count > 0 and plus(h.first, h.used) or '0'
-- Numbers above the caller's maximum are left to callers with a greater one.
if not less(most, from) then h.used = h.used + count end

-- A caller told to fetch gets patience ms. After a failed fetch, a caller that got no
-- numbers fetches at once, others after 100 ms.
local idle = math.abs(now - h.at)
local fetch = h.nlen == 0 and (h.want == '' or idle > patience or (h.want == 'failed' and (count == 0 or idle >= 100)))
if fetch then h.want, h.at = me, now end
keep()
return { 'OK', from, str(count), fetch and '1' or '0', top, str(h.len), str(consumed), str(lasted) }

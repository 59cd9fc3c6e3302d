-- Gives up to n numbers of the current segment. If there is no next segment, tells one
-- caller to fetch it.
local n, above, me, patience = tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

-- A caller that knows a greater number than the next one has seen a later state.
if not lost then
  if h.used < h.len then
    lost = not less(above, plus(h.first, h.used))
  elseif h.nlen > 0 then
    lost = not less(above, h.nfirst)
  end
end

local changed = lost
if lost then
  if less(top, above) then top = above end
  h = { run = run, first = top, len = 0, used = 0, since = now, nfirst = '0', nlen = 0, want = '', at = now }
end

-- How fast the last segment was used up determines the size of the next.
local consumed, lasted = 0, 0
if h.used == h.len then
  consumed, lasted = h.len, math.max(0, now - h.since)
  if h.nlen > 0 then
    h.first, h.len, h.used, h.since, h.nfirst, h.nlen = h.nfirst, h.nlen, 0, now, '0', 0
    changed = true
  end
end

local count = math.min(n, h.len - h.used)
local from = count > 0 and plus(h.first, h.used) or '0'
h.used = h.used + count

-- A caller told to fetch gets patience ms. After a failed fetch, a caller that got no
-- numbers fetches at once, others after 100 ms.
local idle = math.abs(now - h.at)
local fetch = h.nlen == 0 and (h.want == '' or idle > patience or (h.want == 'failed' and (count == 0 or idle >= 100)))
if fetch then
  h.want, h.at = me, now
  changed = true
end

if changed then keep() elseif count > 0 then redis.call('HSET', key, 'used', str(h.used)) end
return { 'OK', from, str(count), fetch and '1' or '0', top, str(h.len), str(consumed), str(lasted) }

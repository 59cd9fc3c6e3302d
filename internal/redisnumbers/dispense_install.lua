-- Installs a segment or, with length 0, reports a failed fetch. Only the caller that this
-- state told to fetch may do so. Hence no segment is installed twice, or on two servers.
local me, first, last, len = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

if lost or h.want ~= me then return { 'LATE' } end
if len == 0 then
  h.want, h.at = 'failed', now
  keep()
  return { 'OK' }
end
h.want = ''
if not less(h.top, first) then
  h.want, h.at = 'failed', now
  keep()
  return { 'BACK', h.top }
end
if h.used == h.len then
  h.first, h.len, h.used, h.since = first, len, 0, now
else
  h.nfirst, h.nlen = first, len
end
h.top = last
keep()
return { 'OK' }

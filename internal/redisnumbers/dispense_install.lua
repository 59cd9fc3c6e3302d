-- Installs a segment or, with length 0, reports a failed fetch. Only the caller that this
-- state told to fetch may do so. Hence no segment is installed twice, or on two servers. The
-- segment of another caller is skipped.
local me, first, len = ARGV[2], ARGV[3], tonumber(ARGV[4])

if lost or h.want ~= me then return { 'OK' } end
h.want = ''
if len == 0 then
  h.want, h.at = 'failed', now
elseif h.used == h.len then
  h.first, h.len, h.used, h.since = first, len, 0, now
else
  h.nfirst, h.nlen = first, len
end
keep()
return { 'OK' }

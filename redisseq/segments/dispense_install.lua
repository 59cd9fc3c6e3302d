-- Puts a segment in place, or, with a length of 0, says that there will be none. Only
-- who was told to, on this server and by the state that is here: a segment that was
-- installed before, or anywhere else, is not installed again.
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

-- Returns the record of the namespace.
local m = redis.call('HMGET', meta, 'pin', 'run', 'prev', 'quar', 'why')
if not m[1] then return { 'UNKNOWN' } end
return { 'OK', str(now), str(m[4] and num(m[4], 'the quarantine') or 0), pinned(m[1]), m[2] or '', m[3] or '', m[5] or '' }

-- Returns the record of the namespace.
local m = redis.call('HMGET', meta, 'pin', 'run', 'prev', 'quar', 'why', 'made')
if not m[1] then return { 'UNKNOWN' } end
if m[6] then num(m[6], 'the number of records made', tonumber(string.match(m[1], ' pool=(%d+) ') or 1048576)) end
return { 'OK', str(now), str(m[4] and num(m[4], 'the quarantine') or 0), pinned(m[1]), short(m[2]), short(m[3]), short(m[5]) }

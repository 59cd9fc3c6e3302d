-- Reserves up to n numbers greater than above and at most max.
local n, above, max = tonumber(ARGV[2]), ARGV[3], ARGV[4]

local h = redis.call('HMGET', key, 'given', 'run')
if not h[1] then return unknown() end
-- An empty incarnation is that of a name that was used without comparing.
if onChange and h[2] ~= '' and h[2] ~= run then return { 'CHANGED', h[2], run } end

local given = decimal(h[1], 'the greatest number given')
if less(given, above) then given = above end
if not less(given, max) then return { 'END', given } end
local last = plus(given, n)
if less(max, last) then last = max end
redis.call('HSET', key, 'given', last, 'run', onChange and run or h[2] or '')
return { 'OK', given, last }

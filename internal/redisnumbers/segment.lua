-- Reserves up to n numbers of a name, greater than above and at most max. The other verbs reserve none:
-- create makes a name, advance continues one above a number whatever server answers, and look changes
-- nothing.
local verb, n, above, max = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]

if verb == 'create' and redis.call('EXISTS', key) > 0 then return { 'EXISTS' } end
local given, run = unpack(redis.call('HMGET', key, 'given', 'run'))
if verb ~= 'create' then
  if not given and redis.call('EXISTS', key) == 0 then return { 'UNKNOWN' } end
  decimal(given, 'the greatest number given')
end
if verb == 'look' then return { 'OK', given, given } end

if not given or less(given, above) then given = above end
local last = given
if verb == 'reserve' then
  -- The run of a name that was used without comparing is empty: the record may be older than the first comparison.
  if incarnation ~= '' and run ~= incarnation then return { 'CHANGED', run or '', incarnation } end
  if not less(given, max) then return { 'END', given } end
  last = plus(given, n)
  if less(max, last) then last = max end
end
if verb ~= 'reserve' then run = incarnation end
redis.call('HSET', key, 'given', last, 'run', run or '')
return { 'OK', given, last }

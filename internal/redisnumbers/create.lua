-- Creates a name or, with the verb advance, continues one above a number.
local verb, given = ARGV[2], ARGV[3]

if verb == 'advance' then
  local old = redis.call('HGET', key, 'given')
  if not old then return unknown() end
  if less(given, decimal(old, 'the greatest number given')) then given = old end
elseif redis.call('EXISTS', key) > 0 then
  return { 'EXISTS' }
end
redis.call('HSET', key, 'given', given, 'run', run)
return { 'OK' }

-- Creates a name or, with the verb advance, continues one above a number.
local verb, given, by = ARGV[2], ARGV[3], ARGV[4]

if verb == 'advance' then
  local old = redis.call('HGET', key, 'given')
  if not old then return unknown() end
  if less(given, decimal(old, 'the greatest number given')) then given = old end
elseif redis.call('EXISTS', key) > 0 and (redis.call('TYPE', key).ok ~= 'hash' or redis.call('HGET', key, 'by') ~= by) then
  return { 'EXISTS' }
elseif redis.call('EXISTS', key) > 0 then
  return { 'OK' } -- a repeated call after a lost reply
end
redis.call('HSET', key, 'given', given, 'run', run, 'by', by)
return { 'OK' }

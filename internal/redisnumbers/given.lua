-- Returns the greatest number given.
local given = redis.call('HGET', key, 'given')
if not given then return unknown() end
return { 'OK', decimal(given, 'the greatest number given') }

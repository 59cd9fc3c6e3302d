-- Tries the commands that leases need beside those of the prelude. It changes nothing.
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err then error(name .. ': ' .. reply.err, 0) end
end
local none = 'snowlease-doctor'
try('ZADD', lease, 'XX', 0, none)
try('ZMSCORE', lease, none)
try('ZRANGEBYSCORE', lease, 1, 0)
try('ZSCORE', lease, none)
try('ZCARD', lease)
for _, name in ipairs({ 'HGET', 'HMGET', 'HDEL' }) do
  for _, key in ipairs({ mark, owners, meta }) do try(name, key, none) end
end
try('HLEN', mark)
return 'OK'

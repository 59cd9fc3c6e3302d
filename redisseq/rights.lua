-- Tries the commands that leases need. Changes nothing.
local failed
local function try(...)
  local reply = redis.pcall(...)
  if not failed and type(reply) == 'table' and reply.err then failed = (...) .. ': ' .. reply.err end
end
try('TIME')
for i = 1, 4 do try('PERSIST', KEYS[i]) end
try('ZADD', KEYS[1], 'XX', 0, 'snowlease-doctor')
try('ZMSCORE', KEYS[1], 'snowlease-doctor')
try('ZRANGEBYSCORE', KEYS[1], 1, 0)
try('ZSCORE', KEYS[1], 'snowlease-doctor')
try('ZCARD', KEYS[1])
for i = 2, 4 do
  try('HGET', KEYS[i], 'snowlease-doctor')
  try('HMGET', KEYS[i], 'snowlease-doctor')
  try('HLEN', KEYS[i])
  try('HDEL', KEYS[i], 'snowlease-doctor')
end
return failed or 'OK'

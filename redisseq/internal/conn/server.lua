-- server returns the incarnation and the version of this server, as far as it tells
-- them. A restart changes run_id; master_replid changes when a replica is promoted,
-- which may have been this very process before. Redis 6.2 takes one section a call.
local function server()
  local info, link = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or type(link) ~= 'string' then return nil, nil end
  local run, replid = string.match(info, 'run_id:(%w+)'), string.match(link, 'master_replid:(%w+)')
  return run and replid and run .. '/' .. replid, string.match(info, 'redis_version:([%w.]+)')
end

-- tooOld: ZMSCORE came with 6.2. A server that does not tell is taken as it is.
local function tooOld(version)
  local major, minor = string.match(version or '', '^(%d+)%.(%d+)')
  return major and tonumber(major) * 1000 + tonumber(minor) < 6002
end

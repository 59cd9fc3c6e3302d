-- server returns the incarnation and the version of this server, or nil if INFO is
-- denied. A restart changes run_id. A promotion changes master_replid, even if this
-- process was the master before. Redis 6.2 accepts one section per call.
local function server()
  local info, link = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or type(link) ~= 'string' then return nil, nil end
  local run, replid = string.match(info, 'run_id:(%w+)'), string.match(link, 'master_replid:(%w+)')
  return run and replid and run .. '/' .. replid, string.match(info, 'redis_version:([%w.]+)')
end

-- tooOld reports whether the version lacks ZMSCORE, which Redis 6.2 added. An unknown
-- version passes.
local function tooOld(version)
  local major, minor = string.match(version or '', '^(%d+)%.(%d+)')
  return major and tonumber(major) * 1000 + tonumber(minor) < 6002
end

-- The hash of a dispenser always has all of these fields.
--
-- run           incarnation of the server that the segments were installed on
-- first, len    the current segment; with length 0, the greatest number known
-- used, since   how many of its numbers were given, and since when
-- nfirst, nlen  the next segment; 0 if none
-- want, at      caller that fetches a segment, and since when; '' if none, 'failed' after
--               a failure
local h, lost = {}, false
local fields = { 'run', 'first', 'len', 'used', 'since', 'nfirst', 'nlen', 'want', 'at' }
for i, value in ipairs(redis.call('HMGET', key, unpack(fields))) do
  h[fields[i]] = value
  lost = lost or not value
end

local top = '0' -- the last number of the last segment
if not lost then
  for _, name in ipairs({ 'len', 'used', 'since', 'nlen', 'at' }) do h[name] = num(h[name], name .. ' of the dispenser') end
  for _, name in ipairs({ 'first', 'nfirst' }) do decimal(h[name], name .. ' of the dispenser') end
  if h.used > h.len then damaged('used of the dispenser', str(h.used)) end
  top = h.nlen > 0 and plus(h.nfirst, h.nlen - 1) or h.len > 0 and plus(h.first, h.len - 1) or h.first
  -- Another server may have given numbers of these segments.
  lost = onChange and h.run ~= run
end

local function keep()
  local list = {}
  for _, name in ipairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = type(h[name]) == 'number' and str(h[name]) or h[name]
  end
  redis.call('HSET', key, unpack(list))
end

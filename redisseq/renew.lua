-- Raises the ceiling of a grant or, after a loss, lends another range above the quarantine.
local worker, presented, ceiling = ARGV[12], tonumber(ARGV[13]), tonumber(ARGV[14])

local rec, expires, value = known(worker)
if not note() then return { 'MORE' } end
if rec.owner ~= owner or expires < now + skew then return { 'LOST', str(now) } end

local token, floor = rec.token, rec.floor
if floor < quarantine then
  -- Times below the quarantine may have been lent and forgotten.
  floor, token = floorOf(value), nextToken(token, presented)
  if floor >= now + ahead then return { 'QUARANTINE', str(now), str(floor - ahead + 1), why } end
elseif token < presented then
  return { 'LOST', str(now) }
end
return lend(worker, rec, token, floor, rec.since, rec.holder, math.max(value, ceiling, ceilingOf(floor)), math.max(expires, now + ttl))

-- Every script of this package starts with internal/redisconn/values.lua and this file.
-- KEYS[1] is a hash. ARGV[1] says whether incarnations are compared.
--
-- Numbers are decimal strings, because Lua's numbers are exact only up to 2^53.
local key, onChange = KEYS[1], ARGV[1] == '1'

local run = ''
if onChange then
  run = server()
  if not run then return { 'NORUNID' } end
end

-- PERSIST is a write that changes nothing. A replica or a full disk refuses it here,
-- before the script decides anything or writes half of its changes.
redis.call('PERSIST', key)

-- less reports whether a < b.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- decimal checks a number that a script wrote: at most 2^63-1.
local function decimal(value, what)
  if not value or #value > 19 or not (value == '0' or string.find(value, '^[1-9]%d*$')) or less('9223372036854775807', value) then
    damaged(what, value)
  end
  return value
end

-- unknown is the answer for a name without a number. A hash that has lost only that is damaged.
local function unknown()
  if redis.call('EXISTS', key) > 0 then damaged('the greatest number given', '') end
  return { 'UNKNOWN' }
end

-- plus adds a Lua number n, 0 <= n < 1e15, to a.
local function plus(a, n)
  local low = tonumber(string.sub(a, -9)) + n
  local high = (tonumber(string.sub(a, 1, -10)) or 0) + math.floor(low / 1e9)
  if high == 0 then return str(low) end
  return string.format('%.0f%09.0f', high, low % 1e9)
end

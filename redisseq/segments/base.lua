-- The scripts of numbers begin with internal/conn/values.lua and this file. KEYS[1] is a hash, ARGV[1]
-- says whether incarnations are compared.
--
-- Numbers are decimal strings: those of Lua are exact up to 2^53 only.
local key, onChange = KEYS[1], ARGV[1] == 'on-change'

local run = ''
if onChange then
  run = server()
  if not run then return { 'NORUNID' } end
end

-- A write that changes nothing: a replica, a full disk refuse it here, before anything
-- is decided, and not halfway through.
redis.call('PERSIST', key)

-- less compares as numbers do.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- decimal reads a number that a script wrote: at most 2^63-1.
local function decimal(value, what)
  if not value or #value > 19 or not (value == '0' or string.find(value, '^[1-9]%d*$')) or less('9223372036854775807', value) then
    damaged(what, value)
  end
  return value
end

-- plus adds a number of Lua's, which is at least 0 and less than 1e15.
local function plus(a, n)
  local low = tonumber(string.sub(a, -9)) + n
  local high = (tonumber(string.sub(a, 1, -10)) or 0) + math.floor(low / 1e9)
  if high == 0 then return str(low) end
  return string.format('%.0f%09.0f', high, low % 1e9)
end

-- Every script of this package starts with internal/redisconn/prelude.lua and this file.
-- KEYS[1] is a hash. Numbers are decimal strings, because Lua's numbers are exact only up to 2^53.
local key = KEYS[1]

-- less reports whether a < b.
local function less(a, b) return #a < #b or #a == #b and a < b end

-- decimal checks a number that a script wrote: at most 2^63-1.
local function decimal(value, what)
  if not value or #value > 19 or not (value == '0' or string.find(value, '^[1-9]%d*$')) or less('9223372036854775807', value) then
    damaged(what, value)
  end
  return value
end

-- plus adds a Lua number n, 0 <= n < 1e15, to a.
local function plus(a, n)
  local low = tonumber(string.sub(a, -9)) + n
  local high = (tonumber(string.sub(a, 1, -10)) or 0) + math.floor(low / 1e9)
  if high == 0 then return str(low) end
  return string.format('%.0f%09.0f', high, low % 1e9)
end

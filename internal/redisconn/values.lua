-- Start of the scripts. Times are Unix milliseconds of this server's clock.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- str formats an integer; tostring would write 1.7e+12.
local function str(n) return string.format('%.0f', n) end

-- damaged ends the script. The client shows the text between the brackets.
local function damaged(what, value)
  local shown = string.gsub(string.sub(tostring(value), 1, 60), '[^%w%p ]', '?')
  error('snowlease<' .. what .. ' is "' .. shown .. '"> end', 0)
end

-- num reads a number that a script wrote: digits, at most most or below 1e15, and exact.
local function num(value, what, most)
  local n = value and #value <= 16 and string.find(value, '^%d+$') and tonumber(value)
  if not n or n > math.min(most or 999999999999999, 9e15) then damaged(what, value) end
  return n
end

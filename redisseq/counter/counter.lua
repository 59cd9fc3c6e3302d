-- Reserves up to n values (tick, sequence) above all that were reserved before. One
-- run is one atomic step; where it runs twice, what the first run reserved is skipped.
--
-- state  HASH  pin (what members agree on), run (incarnation), prev (the one before),
--              quar and why (of a loss, until the first value above it; else quar is 0),
--              tick and seq (of the last value), seen (TIME of the last run), at (the
--              clock that the lead is measured from)
--
-- Let latest be the greatest at of all runs, forgotten ones too.
--
--  1. Every value that was ever given lies at or below the tick of latest plus ahead,
--     since a run gives none above the tick of its own at plus ahead.
--  2. Records are lost only while latest is at most skew above TIME, or above the at
--     that is left on record (an assumption).
--  3. So a loss noticed at a clock at has forgotten no value at or above
--     quar = at + (ahead + 1) ticks + skew, and what is given next lies in the tick of
--     quar or above.
--
-- No rule but 1 decides when that is: at must enter the tick after that of its value at
-- the loss plus skew. So it takes skew and up to a tick, and 1 holds for the next loss,
-- also one that forgets this one. A shorter wait repeats values: if the first value
-- were given w < skew after a loss, TIME could be set back by skew, and the next loss,
-- noticed earlier than the first by skew - w, would give less than the first did.
--
-- Times are Unix microseconds of this server's clock. tick and seq are kept apart
-- since numbers are exact to 2^53 only.
local state = KEYS[1]
local pin, n = ARGV[1], tonumber(ARGV[2])
local knownTick, knownSeq = tonumber(ARGV[3]), tonumber(ARGV[4])
local onChange, caller, off = ARGV[5] == 'on-change', tonumber(ARGV[6]), tonumber(ARGV[7])
local epoch, unit, last = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local per, spread = tonumber(ARGV[11]), tonumber(ARGV[12])
local ahead, skew, exact = tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15] == '1'

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

-- tostring would write 1.7e+12.
local function str(x) return string.format('%.0f', x) end

local function tickOf(time) return math.floor((time - epoch) / unit) end

-- num reads a number that this script wrote: digits, at most the given number, and
-- exact. What is between the brackets is for people.
local function num(value, what, most)
  local n = #value <= 16 and string.find(value, '^%d+$') and tonumber(value)
  if not n or n > math.min(most or 9e15, 9e15) then
    local shown = string.gsub(string.sub(value, 1, 60), '[^%w%p ]', '?')
    error('snowlease<' .. what .. ' is "' .. shown .. '"> end', 0)
  end
  return n
end

if caller ~= 0 and math.abs(now - caller) > off then return { 'CLOCK', str(now / 1000) } end

local id
if onChange or caller ~= 0 then
  local version
  id, version = server()
  if tooOld(version) then return { 'VERSION', version } end
  if onChange and not id then return { 'NORUNID' } end
end

-- A write that changes nothing (the key has no TTL, unless somebody set one): a
-- replica, a full disk, too few replicas refuse it here, before anything is decided.
redis.call('PERSIST', state)

local pinned, run, quarantine, tick, seq, seen, at, prev, why =
  unpack(redis.call('HMGET', state, 'pin', 'run', 'quar', 'tick', 'seq', 'seen', 'at', 'prev', 'why'))
run = run and string.sub(run, 1, 100)
if pinned and pinned ~= pin then return { 'MISMATCH', pinned } end

local loss
if not (pinned or run or quarantine or tick or seq or seen or at) then
  loss = 'nothing is on record for this namespace'
elseif not (pinned and run and quarantine and tick and seq and seen and at) then
  loss = 'the record of the namespace was incomplete'
elseif onChange and run ~= id then
  if run == '' then
    loss = 'the incarnation of the store was not on record'
  elseif prev == id and num(quarantine, 'the quarantine') >= now then
    loss = 'the incarnation of the store flips between ' .. run .. ' and ' .. id ..
      ' (a proxy, or several servers that answer in turn): if none of them loses an acknowledged write, set quarantine: never'
  else
    loss = 'the incarnation of the store changed from ' .. run .. ' to ' .. id
  end
end
quarantine, tick, seq = num(quarantine or '0', 'the quarantine'), num(tick or '0', 'the last tick', last), num(seq or '0', 'the last sequence', per - 1)
seen, at = num(seen or str(now), 'the time of the last call'), num(at or '0', 'the clock of the lead')
prev, why = string.sub(prev or '', 1, 100), string.sub(why or 'the reason was not on record', 1, 500)
run = run or ''
if onChange and run ~= id then prev, run = run, id end

-- at is TIME. Where TIME was set back it goes on at half the pace until TIME has caught
-- up, so that ids go on too and none lies further above it than ahead. A step of more
-- than a second is no pace: nobody asked meanwhile, or TIME was set again. After a loss
-- it may be, of runs that are forgotten.
local step = now - seen
if step > 0 and (step <= 1000000 or loss) then at = at + math.floor(step / 2) end
at = math.max(at, now)

-- A caller that was given a value knows a record to be older than that, where nothing
-- else tells. What lies below quar is known to be forgotten.
if knownTick >= tickOf(quarantine) and (knownTick > tick or (knownTick == tick and knownSeq > seq)) then
  at = math.max(at, epoch + (knownTick - ahead) * unit) -- at least, when the value was given
  loss = loss or 'ids were given out that are not on record'
end

if loss then quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end

-- answer keeps the state. All paths do: at moves between runs that follow each other.
local function answer(...)
  redis.call('HSET', state, 'pin', pin, 'run', run, 'prev', prev, 'quar', str(quarantine), 'why', why,
    'tick', str(tick), 'seq', str(seq), 'seen', str(now), 'at', str(at))
  return { ... }
end

-- The first value: that after the last one, or in a new tick the low bits of that.
local first, from = tick, seq + 1
local current = tickOf(now)
local least = math.max(current, tickOf(quarantine))
if least > tick then first, from = least, from % spread end
if from >= per then first, from = first + 1, 0 end
if current < 0 or first > last then return answer('TIME', str(now / 1000)) end

-- When at allows that value. While at is ahead of TIME it moves at half the pace.
local enters = epoch + (first - ahead) * unit
local ready = exact and quarantine + 1 or math.min(enters, now + 2 * (enters - at))
if quarantine > 0 and ready > now then
  return answer('QUARANTINE', str(math.floor(now / 1000)), str(math.ceil(ready / 1000)), why)
end
if n == 0 then return answer('OK', '0', '0', '0') end

local limit = math.min(tickOf(at) + ahead, last)
if first > limit then return answer('EXHAUSTED', str(enters - at)) end
tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per
if tick > limit then tick, seq = limit, per - 1 end
quarantine = 0 -- what is on record lies above it
return answer('OK', str(first), str(from), str((tick - first) * per + seq - from + 1))

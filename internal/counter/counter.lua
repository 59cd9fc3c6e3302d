-- Reserves up to n values (tick, sequence) above all that were reserved before. One run
-- is one atomic step. If a call runs twice, the values of the first run are skipped.
--
-- state  HASH  pin (of the members), run (the incarnation), prev (the one before)
--              quar, why (end and reason of a loss; quar is 0 once a value lies above it)
--              tick, seq (of the last value), seen (TIME of the last run)
--              at (the clock that the lead is measured from)
--
-- No value lies above the tick of at plus ahead, and a loss forgets none at or above quar: at plus
-- ahead + 1 ticks plus skew. docs/design/protocol.md says why, and why a shorter wait would repeat
-- values.
--
-- The script starts with internal/redisconn/prelude.lua. Its times are Unix microseconds of this
-- server's clock. tick and seq are separate, because numbers are exact only up to 2^53.
local state = KEYS[1]
local pin, n, knownTick, knownSeq = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local host, off = tonumber(ARGV[7]), tonumber(ARGV[8])
local epoch, unit, last = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local per, spread = tonumber(ARGV[12]), tonumber(ARGV[13])
local ahead, skew, exact = tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[16] == '1'

local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local function tickOf(time) return math.floor((time - epoch) / unit) end
if off > 0 and math.abs(now - host) > off then return { 'CLOCK', str(now / 1000) } end

-- No clock was this far ahead: values above it are damage. The caller's clock counts too,
-- because TIME may be set back.
local latest = math.max(now, host) + 36 * 3600 * 1000000
local top = math.min(last, tickOf(latest) + ahead)

local pinned, run, quarantine, tick, seq, seen, at, prev, why =
  unpack(redis.call('HMGET', state, 'pin', 'run', 'quar', 'tick', 'seq', 'seen', 'at', 'prev', 'why'))
if pinned and pinned ~= pin then return { 'MISMATCH', pinned } end

local loss
if not (pinned or run or quarantine or tick or seq or seen or at) then
  loss = 'nothing is on record for this namespace'
elseif not (pinned and run and quarantine and tick and seq and seen and at) then
  loss = 'the record of the namespace was incomplete'
elseif incarnation ~= '' and run ~= incarnation then
  if run == '' then
    loss = 'the incarnation of the store was not on record'
  elseif prev == incarnation and num(quarantine, 'the quarantine', 9e15) >= now then
    loss = 'the incarnation of the store flips between ' .. run .. ' and ' .. incarnation ..
      ' (a proxy, or several servers that answer in turn): if none of them loses an acknowledged write, set durable: true'
  else
    loss = 'the incarnation of the store changed from ' .. run .. ' to ' .. incarnation
  end
end
quarantine, tick = num(quarantine or '0', 'the quarantine', latest + skew + unit * (ahead + 1)), num(tick or '0', 'the last tick', top)
seq = num(seq or '0', 'the last sequence', per - 1)
seen, at = num(seen or str(now), 'the time of the last call', 9e15), num(at or '0', 'the clock of the lead', 9e15)
run, prev, why = run or '', prev or '', why or 'the reason was not on record'
if incarnation ~= '' and run ~= incarnation then prev, run = run, incarnation end

-- at is the latest TIME. If TIME was set back by more than skew, at continues at half the pace until
-- TIME is that close, so that ids continue too. A step of more than a second is ignored: there were no
-- calls, or TIME was set again. After a loss it counts, because runs in between may be forgotten.
local step = now - seen
if step <= 1000000 or loss then at = at + math.max(0, math.min(math.floor(step / 2), at - seen - skew)) end
at = num(str(math.max(at, now)), 'the clock of the lead', latest)

-- A caller that knows a greater value than the record proves a loss, even if nothing else
-- shows it. Values below quar are already known to be forgotten. A value above top came from
-- a damaged record.
if knownTick > top then damaged('the last tick given to this process', str(knownTick)) end
if knownTick >= tickOf(quarantine) and (knownTick > tick or (knownTick == tick and knownSeq > seq)) then
  at = math.max(at, epoch + (knownTick - ahead) * unit) -- at least that, when the value was given
  loss = loss or 'ids were given out that are not on record'
end

if loss then quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end

-- answer saves the state and returns the reply. Every path uses it, because at depends on
-- the previous run.
local function answer(...)
  redis.call('HSET', state, 'pin', pin, 'run', run, 'prev', prev, 'quar', str(quarantine), 'why', why,
    'tick', str(tick), 'seq', str(seq), 'seen', str(now), 'at', str(at))
  return { ... }
end

-- The first value follows the last one. In a new tick it starts at the low bits of the sequence.
local first, from = tick, seq + 1
local current = tickOf(now)
local least = math.max(current, tickOf(quarantine))
if least > tick then first, from = least, from % spread end
if from >= per then first, from = first + 1, 0 end
if current < 0 or first > last then return answer('TIME', str(now / 1000)) end

-- reached is the TIME at which at allows that value.
local enters = epoch + (first - ahead) * unit
local reached = enters - at < at - now - skew and now + 2 * (enters - at) or enters
local ready = exact and quarantine + 1 or reached
if quarantine > 0 and ready > now then
  return answer('QUARANTINE', str(math.floor(now / 1000)), str(math.ceil(ready / 1000)), why)
end
if n == 0 then return answer('OK', '0', '0', '0') end

local limit = math.min(tickOf(at) + ahead, last)
if first > limit then return answer('EXHAUSTED', str(reached - now)) end
tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per
if tick > limit then tick, seq = limit, per - 1 end
quarantine = 0 -- the last value lies above it
return answer('OK', str(first), str(from), str((tick - first) * per + seq - from + 1))

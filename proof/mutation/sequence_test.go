package mutation_test

import (
	"fmt"
	"strings"
)

const (
	sequenceLua     = "internal/counter/counter.lua"
	sequenceReserve = "internal/counter/reserve.go"
	issuerGo        = "internal/prefetch/issuer.go"
	prefetchGo      = "internal/prefetch/prefetch.go"
	ofSequences     = "TestSequenceRules/"

	onReady = `ready > now then`
	onLead  = `local limit = math.min(tickOf(at) + ahead, last)`
)

// onSequence is the script of a counter.Counter, and what a process does with what it gives.
var onSequence = list{title: "sequence", pkg: "internal/counter", loaders: []mutant{luaLoader}, mutants: append([]mutant{
	{"a wait for late times does not see that they were put right", issuerGo, `cmp.Or(min(wait, lookTime)`, `cmp.Or(wait`, "TestWaitEndsWithARepair"},
	// What is reserved.
	{"the last value is given again", sequenceLua, `local first, from = tick, seq + 1`, `local first, from = tick, seq`, ofSequences + "values follow each other"},
	{"the sequence of the last value is forgotten", sequenceLua, `'tick', str(tick), 'seq', str(seq),`, `'tick', str(tick), 'seq', '0',`, ofSequences + "values follow each other"},
	{"time goes back with the clock", sequenceLua, `if least > tick then first`, `if least ~= tick then first`, ofSequences + "a clock that is set back"},
	{"a full tick goes on in itself", sequenceLua, `if from >= per then`, `if false then`, ofSequences + "a full tick goes on in the next"},
	{"bursts run ahead without end", sequenceLua, `if first > limit then return answer('EXHAUSTED'`, `if false then return answer('EXHAUSTED'`, ofSequences + "the lead is MaxAhead"},
	{"a block crosses the lead", sequenceLua, `if tick > limit then tick, seq = limit, per - 1 end`, ``, ofSequences + "the lead is MaxAhead"},
	{"a lead that does not end with the time field", sequenceLua, `tickOf(at) + ahead, last)`, `tickOf(at) + ahead)`, ofSequences + "the time field has an end"},
	{"the lead runs at full pace while the clock is behind", sequenceLua, `math.floor(step / 2)`, `step`, ofSequences + "a clock that is set back"},
	{"small steps back of the clock add up", sequenceLua, `math.min(math.floor(step / 2), at - seen - skew)`, `math.floor(step / 2)`, ofSequences + "a clock that is set back by less than Skew again and again"},
	{"a clock that is set back and forth runs ahead", sequenceLua, `step <= 1000000 or loss then`, `true then`, ofSequences + "a clock that is set back and forth does not run ahead"},
	{"the age of what is reserved counts from the reply", prefetchGo, `tail.prior+tail.n, asked)`, `tail.prior+tail.n, max(asked, e.Now()))`, "TestLateReply"},
	// Who may ask.
	{"a clock far off is not refused", sequenceLua, `if off > 0 and`, `if false and`, ofSequences + "a clock far off is refused before anything is written"},
	{"a last tick decades ahead counts", sequenceLua, `'the last tick', top)`, `'the last tick', last)`, ofSequences + "a time that no clock has shown is damage"},
	{"a lead decades ahead counts", sequenceLua, `num(str(math.max(at, now)), 'the clock of the lead', latest)`, `math.max(at, now)`, ofSequences + "a time that no clock has shown is damage"},
	{"a clock that was set back makes what it showed damage", sequenceLua, `math.max(now, host) + 36`, `now + 36`, ofSequences + "the caller's clock counts where TIME was set back"},
	{"a process writes decades ahead back", sequenceLua, `if knownTick > top then`, `if false then`, ofSequences + "deleting the key and a restart end a time far ahead"},
	{"no pin", sequenceLua, `if pinned and pinned ~= pin then`, `if false then`, ofSequences + "members that differ are refused"},
	{"a key that may expire", prelude, `redis.call('PERSIST', key)`, ``, ofSequences + "the key has no TTL"},
	// What is lost.
	{"a key that is lost is a new one", sequenceLua, `loss = 'nothing is on record for this namespace'`, ``, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{"a part of the key that is lost goes unseen", sequenceLua, `loss = 'the record of the namespace was incomplete'`, ``, ofSequences + "what is lost starts a quarantine"},
	{"incarnations are not compared", sequenceLua, `elseif incarnation ~= '' and run ~= incarnation then`, `elseif false then`, ofSequences + "another incarnation starts a quarantine"},
	{"a promotion of the same process goes unseen", prelude, `run .. '/' .. replid`, `run`, "TestFailoverThereAndBack/miniredis/sequence"},
	{"a server that does not tell its incarnation is taken as unchanged", prelude, `if not (run and replid) then return { 'NORUNID' } end`, `run, replid = run or '', replid or ''`, "TestServerThatDoesNotTellItsRunID"},
	{"ids after a loss are not above it", sequenceLua, `math.max(current, tickOf(quarantine))`, `current`, ofSequences + "loss after loss"},
	{"ids after a loss begin one tick lower", sequenceLua, `(ahead + 1) * unit + skew`, `ahead * unit + skew`, ofSequences + "loss after loss"},
	{"ids after a loss without the lead", sequenceLua, `(ahead + 1) * unit + skew`, `unit + skew`, ofSequences + "loss after loss"},
	{"ids after a loss without the skew", sequenceLua, `(ahead + 1) * unit + skew`, `(ahead + 1) * unit`, ofSequences + "loss after loss"},
	{"ids after a loss without a wait", sequenceLua, onReady + and + onLead, `false then` + and + `local limit = math.max(tickOf(at) + ahead, quarantine > 0 and first or 0)`, ofSequences + "loss after loss"},
	{"ids after a loss one tick early", sequenceLua, onReady + and + onLead, `ready > now + unit then` + and + `local limit = tickOf(at) + ahead + (quarantine > 0 and 1 or 0)`, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{"exact times are not waited for", sequenceLua, `exact and quarantine + 1 or`, ``, ofSequences + "exact times wait for MaxAhead too"},
	{"a loss is measured from a clock that is behind", sequenceLua, `math.max(quarantine, at + (ahead`, `math.max(quarantine, now + (ahead`, ofSequences + "a loss while the clock is behind"},
	{"a second loss counts for nothing", sequenceLua, `if loss then quarantine, why`, `if loss and quarantine < now then quarantine, why`, ofSequences + "a second loss prolongs the quarantine"},
	{"what a caller knows is not heeded", sequenceLua, `(knownTick > tick or`, `(false or`, ofSequences + "a caller that knows more starts a quarantine"},
	{"what a caller knows does not move the lead", sequenceLua, `at = math.max(at, epoch + (knownTick - ahead) * unit)`, ``, ofSequences + "a caller that knows more measures the lead"},
	// What a process does with it.
	{"what a process was given is not told to Redis", prefetchGo, `e.above.CompareAndSwap(above, got.Last)`, `true`, ofSequences + "a caller that knows more starts a quarantine"},
	{"a reply that is another's is taken", sequenceReserve, `|| first <= above || count < 1`, `|| count < 1`, "FuzzSequenceReply"},
	{"handed out though too few replicas have it", "internal/redisconn/run.go", `out.replicas < int64(c.Replicas)`, `false`, "TestSequenceWaitsForReplicas"},
	{"a copy issues what both hold", prefetchGo, `e.drop(e.cur.Load())`, ``, "TestSequenceDropsWhatIsOld"},
	{"what is reserved does not grow old", issuerGo, `e.Now()-c.born > e.MaxAge`, `false`, "TestSequenceDropsWhatIsOld"},
	{"more is taken of a block than it has", issuerGo, `max(0, min(want, c.n-start))`, `want`, "FuzzSequence"},
	{"numbers are read as Lua reads them", prelude, `string.find(value, '^%d+$') and tonumber(value)`, `tonumber(value)`, ofSequences + "damage is told"},
	{"a restart of the server goes unseen", prelude, `run .. '/' .. replid`, `replid`, ofSequences + "another incarnation starts a quarantine"},
}, ofScript(moreOfSequences)...)}

// moreOfSequences changes counter.lua further. The last of them are for the simulation.
var moreOfSequences = []struct{ rule, instead, killer string }{
	{`if least > tick then first`, `if least >= tick then first`, ofSequences + "a full tick goes on in the next"},
	{`if least > tick then first, from = least, from % spread end`, ``, ofSequences + "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `0`, ofSequences + "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `from`, ofSequences + "a new tick starts at the low bits of the last value plus one"},
	{`if from >= per then`, `if from > per then`, ofSequences + "a full tick goes on in the next"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first + math.floor((from + n) / per), (from + n) % per`, ofSequences + "values follow each other"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first, math.min(from + n - 1, per - 1)`, ofSequences + "a full tick goes on in the next"},
	{`tick, seq = limit, per - 1 end`, `tick, seq = limit, 0 end`, ofSequences + "the lead is MaxAhead"},
	{`str(reached - now)`, `str(epoch + first * unit - now)`, ofSequences + "the lead is waited for"},
	{`tickOf(at) + ahead, last)`, `tickOf(at) + ahead + 1, last)`, ofSequences + "the lead is MaxAhead"},
	{`tickOf(at) + ahead, last)`, `tickOf(now) + ahead, last)`, ofSequences + "a clock that is set back"},
	{`tickOf(at) + ahead, last)`, `math.max(tick, tickOf(at)) + ahead, last)`, ofSequences + "the lead is MaxAhead"},
	{`or first > last then`, `then`, ofSequences + "the time field has an end"},
	{`if current < 0 or`, `if`, ofSequences + "the time field has a start"},
	{`if n == 0 then`, `if false then`, ofSequences + "a look reserves nothing"},
	{`math.floor(step / 2)`, `0`, ofSequences + "a clock that is set back"},
	{`step <= 1000000 or loss then`, `step <= 1000000 then`, ofSequences + "another incarnation while the clock is behind"},
	{`str(math.max(at, now))`, `str(now)`, ofSequences + "a clock that is set back"},
	{`str(math.max(at, now))`, `str(at)`, ofSequences + "values follow each other"},
	{`'seen', str(now)`, `'seen', str(seen)`, ofSequences + "a clock that is set back"},
	{`return answer('EXHAUSTED', str(reached - now))`, `return { 'EXHAUSTED', str(reached - now) }`, ofSequences + "an outage of the lead while the clock is behind ends"},
	{`math.abs(now - host) > off`, `now - host > off`, ofSequences + "a clock far off is refused before anything is written"},
	{`elseif not (pinned and run`, `elseif not (run`, ofSequences + "what is lost starts a quarantine"},
	{`(pinned and run and quarantine and`, `(pinned and quarantine and`, ofSequences + "what is lost starts a quarantine without a run_id"},
	{`and quarantine and tick and seq`, `and tick and seq`, ofSequences + "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and seq and seen and at) then`, ofSequences + "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seen and at) then`, ofSequences + "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and at) then`, ofSequences + "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and seen) then`, ofSequences + "what is lost starts a quarantine"},
	{`prev, run = run, incarnation end`, `prev = run end`, ofSequences + "another incarnation starts a quarantine"},
	{`prev == incarnation and num(quarantine, 'the quarantine', 9e15) >= now`, `false`, ofSequences + "the error names an incarnation that flips"},
	{`prev == incarnation and num(quarantine, 'the quarantine', 9e15) >= now`, `prev == incarnation`, ofSequences + "an incarnation that comes back later is no flip"},
	{`if loss then quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end`, `if loss then quarantine, why = at + (ahead + 1) * unit + skew, loss end`, ofSequences + "a second loss prolongs the quarantine"},
	{`quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end`, `quarantine = math.max(quarantine, at + (ahead + 1) * unit + skew) end`, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{`'why', why,`, ``, ofSequences + "another incarnation starts a quarantine"},
	{`math.max(current, tickOf(quarantine))`, `math.max(current, tickOf(quarantine) + 1)`, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{`if quarantine > 0 and ready > now then`, `if false then`, ofSequences + "what is lost starts a quarantine"},
	{`if quarantine > 0 and ready > now then`, `if quarantine > 0 then at = math.max(at, enters) elseif false then`, ofSequences + "loss after loss"},
	{`if quarantine > 0 and ready`, `if ready`, ofSequences + "the lead is MaxAhead"},
	{`ready > now then`, `ready >= now then`, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{`exact and quarantine + 1`, `exact and quarantine`, ofSequences + "exact times wait for MaxAhead too"},
	{`enters - at < at - now - skew and now + 2 * (enters - at) or enters`, `enters`, ofSequences + "a loss while the clock is behind"},
	{`enters - at < at - now - skew and now + 2 * (enters - at) or enters`, `math.min(enters, now + 2 * (enters - at))`, ofSequences + "a clock that is set back by less than Skew again and again"},
	{`str(reached - now)`, `str(enters - at)`, ofSequences + "a clock that is set back by less than Skew again and again"},
	{`2 * (enters - at)`, `enters - at`, ofSequences + "a loss while the clock is behind"},
	{`math.ceil(ready / 1000)`, `math.floor(ready / 1000)`, ofSequences + "exact times wait for MaxAhead too"},
	{`quarantine = 0 --`, `--`, ofSequences + "a quarantine that is over stays so"},
	{`'the quarantine', latest + skew + unit * (ahead + 1))`, `'the quarantine')`, ofSequences + "a time that no clock has shown is damage"},
	{`(knownTick == tick and knownSeq > seq)`, `false`, ofSequences + "a caller that knows more starts a quarantine"},
	{`(knownTick == tick and knownSeq > seq)`, `knownTick == tick`, ofSequences + "a caller that knows what everybody knows"},
	{`knownSeq > seq)`, `knownSeq >= seq)`, ofSequences + "a caller that knows what everybody knows"},
	{`knownTick >= tickOf(quarantine) and`, ``, ofSequences + "a caller that knows more does not prolong a quarantine"},
	{`knownTick >= tickOf(quarantine)`, `knownTick > tickOf(quarantine)`, ofSequences + "a caller that knows more starts a quarantine"},
	{`knownTick >= tickOf(quarantine)`, `quarantine < now`, ofSequences + "a caller that knows more corrects a quarantine"},
	{`loss = loss or 'ids were given out that are not on record'`, ``, ofSequences + "a caller that knows more starts a quarantine"},
	{`(ahead + 1) * unit + skew`, `ahead * unit + skew`, "TestSequenceSimulation"},
	{`(ahead + 1) * unit + skew`, `(ahead + 1) * unit`, "TestSequenceSimulation"},
	{`(ahead + 1) * unit + skew`, `unit + skew`, "TestSequenceSimulation"},
	{`math.max(quarantine, at + (ahead`, `math.max(quarantine, now + (ahead`, "TestSequenceSimulation"},
	{`if loss then quarantine, why`, `if loss and quarantine < now then quarantine, why`, "TestSequenceSimulation"},
	{onReady + and + onLead, `false then` + and + `local limit = math.max(tickOf(at) + ahead, quarantine > 0 and first or 0)`, "TestSequenceSimulation"},
	{onReady + and + onLead, `ready > now + unit then` + and + `local limit = tickOf(at) + ahead + (quarantine > 0 and 1 or 0)`, "TestSequenceSimulation"},
}

// ofScript names mutants of counter.lua for what they do to it.
func ofScript(changes []struct{ rule, instead, killer string }) (mutants []mutant) {
	for _, c := range changes {
		without := fmt.Sprintf("%q is %q, seen by %s", c.rule, c.instead, strings.TrimPrefix(c.killer, ofSequences))
		mutants = append(mutants, mutant{without, sequenceLua, c.rule, c.instead, c.killer})
	}
	return mutants
}

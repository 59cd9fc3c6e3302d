package mutation_test

const (
	sequenceLua     = "internal/counter/counter.lua"
	sequenceReserve = "internal/counter/reserve.go"
	issuerGo        = "internal/prefetch/issuer.go"
	prefetchGo      = "internal/prefetch/prefetch.go"
	ofSequences     = "TestSequenceRules/"

	onReady = `ready > now then`
	onLead  = `local limit = math.min(tickOf(at) + ahead, last)`
)

// onSequence is the script of a counter.Counter, of which TestSequenceRulesHaveTeeth
// changes some sixty more things, and what a process does with what it gives.
var onSequence = list{title: "sequence", pkg: "internal/counter", loaders: []mutant{luaLoader}, mutants: []mutant{
	{"a wait for late times does not see that they were put right", issuerGo, `min(e.Wait(err), lookTime)`, `e.Wait(err)`, "TestWaitEndsWithARepair"},
	// What is reserved.
	{"the last value is given again", sequenceLua, `local first, from = tick, seq + 1`, `local first, from = tick, seq`, ofSequences + "values follow each other"},
	{"the sequence of the last value is forgotten", sequenceLua, `'tick', str(tick), 'seq', str(seq),`, `'tick', str(tick), 'seq', '0',`, ofSequences + "values follow each other"},
	{"time goes back with the clock", sequenceLua, `if least > tick then first`, `if least ~= tick then first`, ofSequences + "a clock that is set back"},
	{"a full tick goes on in itself", sequenceLua, `if from >= per then`, `if false then`, ofSequences + "a full tick goes on in the next"},
	{"bursts run ahead without end", sequenceLua, `if first > limit then return answer('EXHAUSTED'`, `if false then return answer('EXHAUSTED'`, ofSequences + "the lead is MaxAhead"},
	{"a block crosses the lead", sequenceLua, `if tick > limit then tick, seq = limit, per - 1 end`, ``, ofSequences + "the lead is MaxAhead"},
	{"a lead that does not end with the time field", sequenceLua, `tickOf(at) + ahead, last)`, `tickOf(at) + ahead)`, ofSequences + "the time field has an end"},
	{"the lead runs at full pace while the clock is behind", sequenceLua, `at = at + math.floor(step / 2)`, `at = at + step`, ofSequences + "a clock that is set back"},
	{"a clock that is set back and forth runs ahead", sequenceLua, `(step <= 1000000 or loss)`, `true`, ofSequences + "a clock that is set back and forth does not run ahead"},
	{"the age of what is reserved counts from the reply", prefetchGo, `tail.prior+tail.n, asked)`, `tail.prior+tail.n, max(asked, e.Now()))`, "TestLateReply"},
	// Who may ask.
	{"a clock far off is not refused", sequenceLua, `if caller ~= 0 and`, `if false and`, ofSequences + "a clock far off is refused before anything is written"},
	{"a last tick decades ahead counts", sequenceLua, `'the last tick', top)`, `'the last tick', last)`, ofSequences + "a time that no clock has shown is damage"},
	{"a lead decades ahead counts", sequenceLua, `num(str(math.max(at, now)), 'the clock of the lead', latest)`, `math.max(at, now)`, ofSequences + "a time that no clock has shown is damage"},
	{"a clock that was set back makes what it showed damage", sequenceLua, `math.max(now, host) + 36`, `now + 36`, ofSequences + "the caller's clock counts where TIME was set back"},
	{"a process writes decades ahead back", sequenceLua, `if knownTick > top then`, `if false then`, ofSequences + "deleting the key and a restart end a time far ahead"},
	{"no pin", sequenceLua, `if pinned and pinned ~= pin then`, `if false then`, ofSequences + "members that differ are refused"},
	{"a key that may expire", sequenceLua, `redis.call('PERSIST', state)`, ``, ofSequences + "the key has no TTL"},
	// What is lost.
	{"a key that is lost is a new one", sequenceLua, `loss = 'nothing is on record for this namespace'`, ``, ofSequences + "a new namespace waits for Skew and the end of a tick"},
	{"a part of the key that is lost goes unseen", sequenceLua, `loss = 'the record of the namespace was incomplete'`, ``, ofSequences + "what is lost starts a quarantine"},
	{"incarnations are not compared", sequenceLua, `elseif onChange and run ~= id then`, `elseif false then`, ofSequences + "another incarnation starts a quarantine"},
	{"a promotion of the same process goes unseen", "internal/redisconn/server.lua", `return run and replid and run .. '/' .. replid,`, `return run,`, "TestFailoverThereAndBack/miniredis/sequence"},
	{"a server that does not tell its incarnation is taken as unchanged", sequenceLua, `if onChange and not id then return { 'NORUNID' } end`, `id = id or '?'`, ofSequences + "a server that does not tell its run_id"},
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
	{"a reply that is another's is taken", sequenceReserve, `|| first <= above || got < 1`, `|| got < 1`, "FuzzSequenceReply"},
	{"handed out though too few replicas have it", "internal/redisconn/run.go", `out.replicas < int64(c.Replicas)`, `false`, "TestSequenceWaitsForReplicas"},
	{"a copy issues what was asked for before", prefetchGo, `e.copies.Load() == copies`, `copies >= 0`, "TestSequenceResetDuringAReservation"},
	{"a copy issues what it had of a batch", issuerGo, `now := e.copies.Load(); now != copies {`, `now := e.copies.Load(); now < copies {`, "TestSequenceResetBetweenReservations"},
	{"a copy issues what both hold", prefetchGo, `e.drop(e.cur.Load())`, ``, "TestSequenceDropsWhatIsOld"},
	{"what is reserved does not grow old", issuerGo, `e.Now()-c.born > e.MaxAge`, `false`, "TestSequenceDropsWhatIsOld"},
	{"more is taken of a block than it has", issuerGo, `max(0, min(want, c.n-start))`, `want`, "FuzzSequence"},
}}

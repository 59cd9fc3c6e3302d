package mutation_test

const (
	generatorGo = "internal/generator/generator.go"
	handoverGo  = "internal/generator/handover.go"
	leadGo      = "internal/generator/lead.go"
	layoutGo    = "snowflake/layout.go"
	rushGo      = "internal/generator/rush.go"
	waitGo      = "internal/generator/wait.go"

	swapAtStop  = "old := g.term.Load()\n\tfor !g.term.CompareAndSwap(old, none(stopped, old.drops, pacer{})) {\n\t\told = g.term.Load()\n\t}\n"
	raiseAtStop = "used := g.raise(func(last int64) int64 { return last + 1 })\n"
)

// onGenerator is the order of the generator's loads and stores, which every order of
// running its callers is tried against, and what it compares an id with.
var onGenerator = list{title: "generator", pkg: "internal/generator", mutants: []mutant{
	// Issuing.
	{"the range is loaded before the last use", generatorGo, "last := g.last.Load()\n\t\tg.pause(loadedLast)\n\t\tt = g.term.Load()", "t = g.term.Load()\n\t\tg.pause(loadedLast)\n\t\tlast := g.last.Load()", "TestEveryInterleavingOfIssuersAndASwapper"},
	{"the range is loaded before the last use, and then it stops", generatorGo, "last := g.last.Load()\n\t\tg.pause(loadedLast)\n\t\tt = g.term.Load()", "t = g.term.Load()\n\t\tg.pause(loadedLast)\n\t\tlast := g.last.Load()", "TestEveryInterleavingOfIssuersAndAStop"},
	{"an id is taken by a plain store", generatorGo, `if g.last.CompareAndSwap(last, end) {`, `if g.last.Store(end); true {`, "TestEveryInterleavingOfIssuersAndAStop"},
	{"no ceiling", generatorGo, `return min(t.hi, (g`, `return min(1<<62, (g`, "TestErrorsNameTheState"},
	{"the ceiling is compared with the clock, not with the id", generatorGo, `end := min(v+want-1, g.bound(t, mono, tick))`, "if tick<<g.seqBits > t.hi {\n\t\t\treturn v, 0, t\n\t\t}\n\t\tend := min(v+want-1, (tick+g.ahead)<<g.seqBits|g.seqMask)", "TestLeadEndsAtTheCeiling"},
	{"a batch crosses the ceiling", generatorGo, `end := min(v+want-1, g.bound(t, mono, tick))`, "if v > t.hi {\n\t\t\treturn v, 0, t\n\t\t}\n\t\tend := min(v+want-1, (tick+g.ahead)<<g.seqBits|g.seqMask)", "TestLeadEndsAtTheCeiling"},
	{"no floor", handoverGo, `max(last|g.seqMask, t.lo-1, last+1)`, `max(last|g.seqMask, last+1)`, "TestLastTickLiesWithinTheCeiling"},
	{"time goes back with the clock", generatorGo, `|g.low(t, at), last+1)`, `|g.low(t, at), 0)`, "TestCenterSetBack"},
	{"bursts run ahead without end", generatorGo, `t.hi, (g.leadTick(t, mono, tick)+g.ahead)<<(g.seqBits&63)|g.seqMask)`, `t.hi, max(tick, t.hi))`, "TestLeadIsBounded"},
	{"the lead is measured by a clock that was set back", leadGo, `return g.tick(t, t.lead(mono))`, `return tick`, "TestCenterSetBack"},
	{"the lead stands still while the center's clock is behind", leadGo, `return p.start + int64(float64(mono-p.from)*p.pace)`, `return p.start`, "TestCenterSetBack"},
	{"the lead goes on too fast while a renewal gives no more", leadGo, `case wait > 0:`, `case false:`, "TestCenterSetBack"},
	{"the reserve is shared out too", leadGo, `float64(rest-min(rest/2, int64(reserve)))`, `float64(rest)`, "TestCenterSetBack"},
	{"a range that grows is shared out until the clock has caught up", leadGo, `wait := (t.Grows-t.Now)*int64(time.Millisecond) + int64(t.At) - mono`, `wait := end - mono`, "TestRangeAboveTheClock"},
	{"no reserve for the time of a renewal", leadGo, `case rest < int64(reserve):`, `case false:`, "TestRangeAboveTheClock"},
	{"the two clocks never meet", leadGo, `lead, fastest`, `lead, 0.999999`, "TestRangeAboveTheClock"},
	{"what was left unused stays ahead", leadGo, `, next>>g.seqBits*g.unit-t.anchor, end`, `, end`, "TestRangeAboveTheClock"},
	{"a burst that was used up is there again under another range", handoverGo, `t.lo>>g.seqBits*g.unit-ahead)`, `t.lo>>g.seqBits*g.unit+0*ahead)`, "TestRangeAboveTheClock"},
	{"nobody hears that half of a range is used", leadGo, `t.half = next + (t.hi-next)/2`, `t.half = never`, "TestWanted"},
	{"half of a range is all of it", leadGo, `(t.hi-next)/2`, `(t.hi-next)`, "TestWanted"},
	{"half of a range is half of what it was", leadGo, `next = max(next, t.lo, g.tick(t, mono)<<g.seqBits)`, `next = t.lo`, "TestWanted"},
	{"wants what a renewal does not give", leadGo, `if wait <= 0 {`, `if true {`, "TestWanted"},
	{"in a rush, nobody hears that half of a range is used", rushGo, `if v >= t.half {`, `if false {`, "TestWanted"},
	{"a range that is used up has expired", waitGo, `(t.failing.Load() || g.tick(t, g.mono()) > t.hi>>g.seqBits)`, `true`, "TestLeadEndsAtTheCeiling"},
	{"a range that is used up never expires", waitGo, `t.failing.Load() || `, ``, "TestLeadEndsAtTheCeiling"},
	{"a range that time has passed has not expired", waitGo, ` || g.tick(t, g.mono()) > t.hi>>g.seqBits`, ``, "TestLeadEndsAtTheCeiling"},
	{"who needs one id waits for no renewal", waitGo, "case <-t.ended:\n\t}\n}", "case <-make(chan struct{}):\n\t}\n}", "TestWaitForARenewal"},
	{"an error tells why a caller began to wait", waitGo, `fmt.Errorf("%w: %w", g.why(t, v), `, `fmt.Errorf("%w: %w", err, `, "TestWaitForARenewal"},
	{"the lead is slower though the center's clock has caught up", leadGo, "if mono >= p.level {\n\t\treturn mono\n\t}", ``, "TestCenterSetBack"},
	{"the lead is measured from below the range", handoverGo, `max(lead, t.lo>>g.seqBits*g.unit-ahead)`, `lead+0*ahead`, "TestRangeAboveTheClock"},
	{"a renewal forgets what the lead was measured from", handoverGo, `cur.anchor+cur.lead(g.mono())`, `t.anchor+g.mono()`, "TestCenterSetBack"},
	{"another range forgets what the lead was measured from", handoverGo, `g.leadAt(old.pacer, g.mono(), used)`, `g.leadAt(pacer{}, g.mono(), 0)`, "TestLeadGoesOnUnderAnotherRange/lost"},
	{"a drop forgets what the lead was measured from", handoverGo, `none(notStarted, old.drops+1, old.pacer)`, `none(notStarted, old.drops+1, pacer{})`, "TestLeadGoesOnUnderAnotherRange/dropped"},
	{"who waits waits for the center's clock", leadGo, `mono = t.from + int64(float64(mono-t.start)/max(t.pace, 1e-9)) + 1 // rounded up`, ``, "TestWaitWhileTheCenterIsBehind"},
	{"low rates all end alike", generatorGo, `h := (uint64(tick) + t.salt)`, `h := t.salt`, "TestShardsAreEven/jssafe"},
	{"what has run into a tick decides where it goes on", generatorGo, `v = max(at<<(g.seqBits&63)|g.low(t, at), last+1)`, `v = max(at<<(g.seqBits&63), last+1)
		if last>>g.seqBits < at {
			v |= g.low(t, at)
		}`, "TestShardsAreEven/jssafe"},
	{"all processes begin alike", handoverGo, `uint64(r.Worker) << 48`, `0`, "TestFirstSequencesDiffer"},
	{"all ranges ahead of the clock begin alike", generatorGo, `at := max(tick, t.lo>>(g.seqBits&63))`, `at := tick`, "TestFirstSequencesDiffer"},
	{"a batch is many reservations", generatorGo, `v, n, t := g.take(int64(len(rest)))`, `v, n, t := g.take(1)`, "TestBatchIsOneReservation"},
	{"a batch has an id twice", generatorGo, `id, id+1, id+2, id+3`, `id, id+1, id+2, id+2`, "TestBatchOfAnyLength"},
	{"a batch goes on with ids that it has", generatorGo, `dst, id = dst[4:], id+4 {`, `dst, id = dst[4:], id+3 {`, "TestBatchOfAnyLength"},
	{"the end of a batch is that of its beginning", generatorGo, `dst[i] = id + int64(i)`, `dst[i] = id`, "TestBatchOfAnyLength"},
	{"a batch that fails is half there", generatorGo, `clear(dst)`, ``, "TestBatchThatFailsLeavesNothing"},
	// In a rush, without the clock.
	{"in a rush, the range is not looked at again", rushGo, `if v&(stride-1) == 0 || v > end || g.term.Load() != t {`, `if v&(stride-1) == 0 || v > end {`, "TestEveryInterleavingOfARushAndASwapper"},
	{"in a rush, the range is not looked at again, and then it stops", rushGo, `if v&(stride-1) == 0 || v > end || g.term.Load() != t {`, `if v&(stride-1) == 0 || v > end {`, "TestEveryInterleavingOfARushAndAStop"},
	{"in a rush, the range is looked at before the add only", rushGo, `if v&(stride-1) == 0 || v > end || g.term.Load() != t {`, `if v&(stride-1) == 0 || v > end || t.state != held {`, "TestEveryInterleavingOfARushARenewalADropAndAnAdoption"},
	{"where a rush reads the clock, the range is not looked at again", rushGo, `if v <= bound && g.term.Load() == t {`, `if v <= bound {`, "TestEveryInterleavingOfATurnAStopAndASwap"},
	{"in a rush, an id is taken by a plain store", rushGo, `v = g.last.Add(1)`, "v = g.last.Load() + 1\n\t\tg.pause(addedLast)\n\t\tg.last.Store(v)", "TestEveryInterleavingOfARushAndAStop"},
	{"in a rush, an id lies beyond the range if another caller has met its end", rushGo, `|| v > end ||`, `||`, "TestEveryInterleavingOfARushAtTheCeiling"},
	{"a rush does not end with its lead", rushGo, `if v > bound || behind > 1 {`, `if behind > 1 {`, "TestRushEndsWithTheLead"},
	{"a rush enters a tick beyond the range", rushGo, `if v <= bound && g.term.Load() == t {`, `if g.term.Load() == t {`, "TestRushEntersNoTickBeyondTheRange"},
	{"a rush goes on after its lead", rushGo, "\t\tbound = 0\n", "", "TestRushEndsWithTheLead"},
	{"a rush begins without a lead", rushGo, `v>>(g.seqBits&63) > g.leadTick(t, mono, tick)+g.ahead/2`, `false`, "TestRushEndsWithTheLead"},
	{"a rush keeps to its first lead", rushGo, `t.end.CompareAndSwap(end, bound)`, ``, "TestRushGoesOnBeyondItsFirstLead"},
	{"a rush crosses a tick without the clock", rushGo, `v&(stride-1) == 0 || `, ``, "TestRushReadsTheClock"},
	{"a rush where there is none", rushGo, `end := t.end.Load(); end == 0 {`, `end := t.hi; false {`, "TestRushEndsByTheClock"},
	{"a rush ends by no clock", rushGo, `if v > bound || behind > 1 {`, `if v > bound {`, "TestRushEndsByTheClock"},
	{"a rush stays in its tick", rushGo, `skip > 0 && behind == 1 {`, `skip > 0 && behind == 2 {`, "TestRushEntersATickOnce"},
	{"each caller of a rush moves on to the next tick", rushGo, `(g.seqBits&63) - g.last.Load(); skip`, `(g.seqBits&63) - v; skip`, "TestRushEntersATickOnce"},
	{"a caller who is late moves a rush beyond the clock", rushGo, `(g.seqBits&63) - g.last.Load(); skip`, `(g.seqBits&63) - v; skip`, "TestRushEntersATickLate"},
	{"a caller under a former clock moves a rush far ahead", rushGo, `skip > 0 && behind == 1 {`, `skip > 0 {`, "TestRushForgetsTheFormerClock"},
	{"a rush by a clock that counts its calls", rushGo, `== rushBegin && g.clock == nil {`, `== rushBegin {`, "TestNoRushByAnotherClock"},
	{"a rush leaves a batch no chance", generatorGo, `if tries%rushTries == 0 {`, `if tries < 0 {`, "TestRushEndsForABatch"},
	{"values beyond the range count as used", handoverGo, `min(used, t.hi)`, `used`, "TestRushBeyondTheRange"},
	{"values that a rush drops count as ids", rushGo, "g.skipped.Add(1)\n\treturn g.oneByClock()", `return g.oneByClock()`, "TestRushEndsWithTheLead"},
	{"values that a rush skips count as ids", rushGo, `g.skipped.Add(skip)`, ``, "TestRushGoesOnBeyondItsFirstLead"},
	{"a rush begins beside the watcher of the last one", rushGo, "if t.watched.CompareAndSwap(false, true) {\n\t\tgo", "if t.watched.Store(true); true {\n\t\tgo", "TestRushesHaveOneWatcher"},
	{"a rush begins as its watcher leaves, and has none", rushGo, `if t.end.Load() == 0 || !t.watched.CompareAndSwap(false, true) {`, `if true {`, "TestRushBeginsAsItsWatcherLeaves"},
	{"a watcher outlives its rush", rushGo, `t.end.Load() != 0 && g.term.Load() == t`, `g.term.Load() == t`, "TestRushesHaveOneWatcher"},
	{"a watcher outlives its term", rushGo, `t.end.Load() != 0 && g.term.Load() == t`, `t.end.Load() != 0`, "TestRushesHaveOneWatcher"},
	// Swapping.
	{"a swap moves nothing", handoverGo, "used := g.raise(func(last int64) int64 {\n\t\treturn max(last|g.seqMask, t.lo-1, last+1)\n\t})", "used := g.last.Load()", "TestEveryInterleavingOfIssuersAndASwapper"},
	{"a swap goes on in the same tick", handoverGo, `max(last|g.seqMask, t.lo-1, last+1)`, `max(t.lo-1, last+1)`, "TestEveryInterleavingOfIssuersAndASwapper"},
	{"a swap at the end of a tick moves nothing", handoverGo, `max(last|g.seqMask, t.lo-1, last+1)`, `max(last|g.seqMask, t.lo-1)`, "TestEveryInterleavingAtTheEndOfATick"},
	{"a swap without a marker", handoverGo, `old.state != stopped && !g.term.CompareAndSwap(old, marker)` + and + `g.term.CompareAndSwap(marker, t)`, `false` + and + `g.term.CompareAndSwap(old, t)`, "TestEveryInterleavingOfIssuersAndASwapper"},
	{"a swap ends by a plain store", handoverGo, `installed := g.term.CompareAndSwap(marker, t)`, "installed := true\n\tg.term.Store(t)", "TestEveryInterleavingOfALateRenewalAStopAndASwap"},
	{"the last use is that of the next range", handoverGo, "return g.lastUsed(old, used), err", "return g.lastUsed(old, max(used, g.last.Load()+1)), err", "TestSwapToALowerWorkerRises"},
	{"a swap that a stop interrupts forgets the last use", handoverGo, "err = ErrClosed\n", "return 0, ErrClosed\n", "TestEveryInterleavingOfATurnAStopAndASwap"},
	{"the last use is the start of its tick", handoverGo, `>>g.seqBits+1).UnixMilli() - 1`, `>>g.seqBits).UnixMilli()`, "TestLastUsedIsTheEndOfTheLastTick"},
	// Renewing.
	{"a renewal is installed by a plain store", handoverGo, `if !g.term.CompareAndSwap(cur, t) {`, "g.term.Store(t)\n\tif true {\n\t\treturn true\n\t}\n\tif cur == nil {", "TestEveryInterleavingOfALateRenewalAStopAndASwap"},
	{"a late renewal is installed", handoverGo, `cur.state != held || cur.Range != prev ||`, `cur.state != held ||`, "TestExtendOnlyWhatItRenewed"},
	{"a renewal revives a generator that has stopped", handoverGo, `cur.state != held || cur.Range != prev ||`, ``, "TestEveryInterleavingOfALateRenewalAStopAndASwap"},
	{"a renewal lowers the ceiling", handoverGo, ` || next.Ceiling < prev.Ceiling {`, ` {`, "TestExtendOnlyWhatItRenewed"},
	{"a renewal changes the worker id", handoverGo, `next.Worker != prev.Worker ||`, ``, "TestExtendOnlyWhatItRenewed"},
	{"a renewal changes the floor", handoverGo, `|| next.Floor != prev.Floor ||`, `||`, "TestExtendOnlyWhatItRenewed"},
	// Stopping.
	{"a stop moves nothing", handoverGo, raiseAtStop + "\tif old.state == stopped {", "used := g.last.Load()\n\tif old.state == stopped {", "TestEveryInterleavingOfIssuersAndAStop"},
	{"a stop moves the last use before it takes the range away", handoverGo, swapAtStop + "\tg.pause(markedStop)\n\t// As in Adopt, an issuer that has loaded the old term already has its value or gets none. So\n\t// used covers every id.\n\t" + raiseAtStop, raiseAtStop + "\tg.pause(markedStop)\n\t" + swapAtStop, "TestEveryInterleavingOfIssuersAndAStop"},
	{"a stop leaves the range", handoverGo, swapAtStop, "old := g.term.Load()\n", "TestEveryInterleavingOfIssuersAndAStop"},
	{"a stop forgets how often the range was dropped", handoverGo, `none(stopped, old.drops, pacer{})`, `none(stopped, 0, pacer{})`, "TestBatchStartsAgainAfterADrop"},
	{"a batch goes on after a drop", generatorGo, `if t.drops != drops {`, `if false && t.drops != drops {`, "TestBatchStartsAgainAfterADrop"},
	{"a drop moves nothing", handoverGo, "used := g.raise(func(last int64) int64 { return last + 1 }) // as in Stop", "used := g.last.Load()", "TestEveryInterleavingOfIssuersADropAndAnAdoption"},
	// Milliseconds and ticks.
	{"the first tick of a range begins before it", layoutGo, `first = (floor-epoch)/unit + 1`, `first = (floor - epoch + 1) / unit`, "TestLastTickLiesWithinTheCeiling"},
	{"the last tick of a range ends after it", layoutGo, `-epoch)/unit - 1`, `-epoch) / unit`, "TestLastTickLiesWithinTheCeiling"},
}}

// onLayout is the ticks of a range of milliseconds.
var onLayout = list{title: "layout", pkg: "snowflake", mutants: []mutant{
	{"the floor itself is used", layoutGo, `first = (floor-epoch)/unit + 1`, `first = (floor-epoch-1)/unit + 1`, "TestTicks"},
	{"a time field that overflows", layoutGo, `min(ceiling, l.Ends().UnixMilli()-1)+1`, `ceiling+1`, "TestTicks"},
}}

package mutation_test

const historyGo = "numbers/history/history.go"

// onHistory is backdated ids.
var onHistory = list{title: "backdated ids", pkg: "numbers/history", mutants: []mutant{
	{"a Since of decades ahead counts", historyGo, `r.First > now.Add(maxAhead+clockFault).UnixMilli()*readers {`, `r.First > math.MaxInt64-readers {`, "TestSinceThatNoProcessWrote"},
	{"both sides of a move make backdated ids", historyGo, `cfg.Last < top-cfg.Reserved`, `top < 0`, "TestConfigsThatAreWrong"},
	{"worker ids that live processes have", historyGo, `worker := l.Workers() - 1 - (n-1)/l.PerTick()`, `worker := (n - 1) / l.PerTick()`, "TestIDsForThePast/memory"},
	{"reserved worker ids from the bottom up", historyGo, `worker := l.Workers() - 1 - (n-1)/l.PerTick()`, `worker := l.Workers() - i.cfg.Reserved + (n-1)/l.PerTick()`, "TestNoIDTwiceAcrossEras"},
	{"each namespace has counters of its own", historyGo, `numberstore.Key("", "past."+counting+".")`, `numberstore.Key("", cfg.Namespace+counting+".")`, "TestNoIDTwiceAcrossEras"},
	{"times at which the worker ids were lent", historyGo, `; tick < since {`, `; tick < since && false {`, "TestNoIDTwiceAcrossEras"},
	{"since now, not since clocks and leads have passed", historyGo, `now.Add(i.cfg.Ahead).UnixMilli()`, `now.UnixMilli()`, "TestNoIDTwiceAcrossEras"},
	{"all namespaces count since the first of them did", historyGo, `name: heads + strconv.FormatInt(cfg.Reserved, 10) + "." + cfg.Namespace`, `name: heads + strconv.FormatInt(cfg.Reserved, 10)`, "TestNoIDTwiceAcrossEras"},
	{"more reserved worker ids under the old since", historyGo, `strconv.FormatInt(cfg.Reserved, 10)`, `""`, "TestSince"},
	{"a tick that is only begun before the time of Backfill", historyGo, `tick+l.TimeUnit.Milliseconds() > i.before`, `at.UnixMilli() >= i.before`, "TestSince"},
	{"a batch that falls from one worker id to the next", historyGo, `slices.Sort(dst)`, `_ = slices.Sort[[]int64]`, "TestEveryIDOfASecond"},
	{"the ids of a second all end alike", historyGo, `Sequence: (n - 1) % l.PerTick()`, `Sequence: 0 * n`, "TestIDsForThePast/memory"},
	{"more ids than a second has", historyGo, `Max: i.perSpan()`, `Max: 2 * i.perSpan()`, "TestEveryIDOfASecond"},
	{"each batch begins with the first number", historyGo, `rest[n-r.First] = id`, `rest[0] = id`, "TestIDsForThePast/memory"},
	{"a batch that fails is half there", historyGo, `clear(dst)`, ``, "TestEveryIDOfASecond"},
	{"times to come", historyGo, ` || at.After(now)`, ``, "TestTimesThatAreNoPast"},
	{"times before the epoch", historyGo, `at.UnixMilli() < epoch || `, ``, "TestTimesThatAreNoPast"},
	{"counters count on whatever became of Since", historyGo, `Beside: i.since.name, Given: numberstore.Range{First: own, Last: own + readers - 1},`, ``, "TestCountersLostWhileRunning/sqlite"},
	{"a Since that was never a time", historyGo, `r.First < max(i.cfg.Layout.TickTime(0).UnixMilli(), 1)*readers || `, ``, "TestSinceThatNoProcessWrote"},
	{"counters are made though others are gone", historyGo, `Create: true, Family: i.name,
`, `Create: true,
`, "TestCountersLostWhileRunning/sqlite"},
	{"a family is not counted", segmentsGo, `left != n`, `false`, "TestCountersLostWhileRunning/sqlite"},
	{"a count that is gone begins again", segmentsGo, `heads == 0`, `heads >= 0`, "TestCountersLostWhileRunning/sqlite"},
	{"a count that begins forgets counters that are left", segmentsGo, `left + 1`, `0*left + 1`, "TestCountersLostWhileRunning/sqlite"},
	{"Since is by a clock that is wrong", historyGo, `NotAfter: now.Add(lease.MaxClockError).UnixMilli(),`, ``, "TestSince"},
	{"no Since begins the count of counters", historyGo, `, Heads: i.since.heads`, ``, "TestCountersLostWhileRunning/sqlite"},
	{"a Since that began later is the one known", historyGo, `Last: own + readers - 1}`, `Last: math.MaxInt64}`, "TestCountersLostWhileRunning/sqlite"},
	{"ids before they may be made", historyGo, `until, err := i.cfg.Ready()`, `until, err := int64(math.MaxInt64), error(nil)`, "TestNotReady"},
	{"the end of the last lease is not asked for", historyGo, `return st.Ceiling.UnixMilli(), nil`, `return math.MaxInt64, nil`, "TestAfterTheLastLease"},
	{"times after the last lease", historyGo, `tick > until {`, `tick > until && false {`, "TestNotReady"},
	{"no worker id is reserved", historyGo, `f.Check(cfg.Reserved < 1, `, `f.Check(false, `, "TestConfigsThatAreWrong"},
}}

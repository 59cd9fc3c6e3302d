package mutation_test

const historyGo = "history/history.go"

// onHistory is ids for times past.
var onHistory = list{title: "times past", pkg: "history", mutants: []mutant{
	{"worker ids that live processes have", historyGo, `worker := l.Workers() - 1 - (n-1)/l.PerTick()`, `worker := (n - 1) / l.PerTick()`, "TestIDsForThePast/memory"},
	{"reserved worker ids from the bottom up", historyGo, `worker := l.Workers() - 1 - (n-1)/l.PerTick()`, `worker := l.Workers() - i.cfg.Reserved + (n-1)/l.PerTick()`, "TestNoIDTwiceAcrossEras"},
	{"each namespace has counters of its own", historyGo, `name: "past." + short(counting) + "."`, `name: cfg.Namespace + short(counting) + "."`, "TestNoIDTwiceAcrossEras"},
	{"times at which the worker ids were lent", historyGo, `tick < since.UnixMilli()`, `false`, "TestNoIDTwiceAcrossEras"},
	{"since now, not since clocks and leads have passed", historyGo, `i.now().Add(i.cfg.Ahead).UnixMilli()`, `i.now().UnixMilli()`, "TestNoIDTwiceAcrossEras"},
	{"all namespaces count since the first of them did", historyGo, `short(fmt.Sprint(counting, "/", cfg.Reserved)) + "." + cfg.Namespace`, `short(fmt.Sprint(counting, cfg.Reserved))`, "TestNoIDTwiceAcrossEras"},
	{"more reserved worker ids under the old since", historyGo, `short(fmt.Sprint(counting, "/", cfg.Reserved))`, `short(counting)`, "TestSince"},
	{"a tick that is only begun before the time of Backfill", historyGo, `tick+l.TimeUnit.Milliseconds() > i.before`, `at.UnixMilli() >= i.before`, "TestSince"},
	{"a batch that falls from one worker id to the next", historyGo, `slices.Sort(dst)`, `_ = slices.Sort[[]int64]`, "TestEveryIDOfASecond"},
	{"the ids of a second all end alike", historyGo, `Sequence: (n - 1) % l.PerTick()`, `Sequence: 0 * n`, "TestIDsForThePast/memory"},
	{"more ids than a second has", historyGo, `Max: i.PerSpan()`, `Max: 2 * i.PerSpan()`, "TestEveryIDOfASecond"},
	{"each batch begins with the first number", historyGo, `rest[n-r.First] = id`, `rest[0] = id`, "TestIDsForThePast/memory"},
	{"a batch that fails is half there", historyGo, `clear(dst)`, ``, "TestEveryIDOfASecond"},
	{"times to come", historyGo, ` || at.After(now)`, ``, "TestTimesThatAreNoPast"},
	{"times before the epoch", historyGo, `at.UnixMilli() < l.Epoch || `, ``, "TestTimesThatAreNoPast"},
	{"no worker id is reserved", historyGo, `cfg.Reserved < 1 || `, ``, "TestConfigsThatAreWrong"},
}}

// onPast is how a worker uses them.
var onPast = list{title: "times past of a worker", pkg: "idworker", mutants: []mutant{
	{"both sides of a move make ids for times past", "idworker/past.go", `case !p.hasReserved:`, `case false:`, "TestPastMovesToAnotherDatabase"},
	{"ids before the center has seen the pool and the clock", "idworker/past.go", `if err := c.from.lent(); err != nil {`, `if err := c.from.lent(); false {`, "TestNextIDAt"},
	{"the center is closed before the worker id is given back", "idworker/leased.go", `errors.Join(l.keeper.Stop(ctx), l.closing())`, `errors.Join(l.closing(), l.keeper.Stop(ctx))`, "TestOwnedCenterIsClosedOnceAndLast"},
	{"what is reserved is lent", "idworker/plan.go", `return pool, first, min(last, pool-1)`, `return pool, first, last`, "TestPastMovesToAnotherDatabase"},
}}

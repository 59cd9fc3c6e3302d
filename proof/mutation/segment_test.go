package mutation_test

const (
	segmentsSQL      = "internal/sqlnumbers/sql/segment.sql"
	segmentsGo       = "internal/sqlnumbers/store.go"
	contractOnSQLite = "TestSegmentsKeepTheContract/sqlite"
	contractOnMini   = "TestSegmentsKeepTheContract/miniredis"
	afterALoss       = "TestSegmentsAfterALoss/miniredis"
	reserveLua       = "internal/redisnumbers/segment.lua"
	dispenserLua     = "internal/redisnumbers/dispenser.lua"
)

// onSegment is how a process issues what it has reserved.
var onSegment = list{title: "segment", pkg: "numbers", mutants: []mutant{
	{"namespaces share names", "numbers/segment_config.go", `numberstore.Key(c.Namespace, c.Name)`, `numberstore.Key("", c.Name)`, "TestNumbersStartWhereTheyShouldAndRiseByOne"},
	{"one number more than a segment has", issuerGo, `k <= c.n
`, `k <= c.n+1
`, "TestNumbersStartWhereTheyShouldAndRiseByOne"},
	{"a batch crosses the end of a segment", issuerGo, `max(0, min(want, c.n-start))`, `want`, "TestLostRepliesSkipSegments"},
	{"what a batch took is not noted", issuerGo, `start := c.used.Add(want) - want`, `start := c.used.Load()`, "TestNumbersRiseWithinAProcess"},
	{"a batch that fails is half there", issuerGo, `clear(dst)`, ``, "TestEndOfTheRange"},
	{"a store is not told what this process knows", "numbers/segment.go", `i.cfg.request(n, above)`, `i.cfg.request(n, 0)`, "TestStoreThatWentBack"},
	{"who has numbers creates a name that is lost", "numbers/segment_config.go", `!c.MustExist && above == 0`, `!c.MustExist`, "TestStoreThatWentBack"},
	{"attempts fail since the first one failed", "internal/prefetch/stats.go", `s.Since = began`, `s.Since, _ = time.Now(), began`, "TestFailingSince"},
	{"attempts fail though one succeeded", "internal/prefetch/stats.go", `s.Since = time.Time{}`, `_ = s.Since`, "TestFailingSince"},
	{"strict order waits for calls that its state keeps away", "numbers/status.go", ` && (!i.cfg.Strict || time.Since(s.Failed) < doubt)`, ``, "TestStrictIsReadyAgain"},
	// A process that was copied.
	{"a copy issues what it had of a batch", issuerGo, `now := e.copies.Load(); now != copies {`, `now := e.copies.Load(); now < copies {`, "TestResetBetweenTheSegmentsOfABatch"},
	{"a copy issues what was asked for before", prefetchGo, `e.copies.Load() == copies`, `copies >= 0`, "TestResetForgetsAnswersUnderWay"},
	{"a copy issues what both hold", prefetchGo, `e.drop(e.cur.Load())`, ``, "TestResetGivesUpWhatIsPrefetched"},
}}

// onPrefetch is what segments and ids counted in Redis share.
var onPrefetch = list{title: "prefetch", pkg: "internal/prefetch", mutants: []mutant{
	{"a slow caller brings back what was closed", issuerGo, `if e.cur.CompareAndSwap(c, next) {`, `if e.cur.Store(next); true {`, "TestSlowCallerAfterClose"},
	{"a batch begins while Reset runs", prefetchGo, `n%2 == 0 {`, `n >= 0 {`, "TestBatchDuringReset"},
}}

// onSQLSegments are the statements of sqlnumbers on SQLite.
var onSQLSegments = list{title: "sql segments", pkg: "dbseq", loaders: []mutant{sqlLoader}, mutants: []mutant{
	{"what is reserved is not noted", segmentsSQL + "#reserve", `max_id = GREATEST(max_id, :above) + LEAST(:n, :max - GREATEST(max_id, :above))`, `max_id = GREATEST(max_id, :above) + LEAST(1, :n)`, contractOnSQLite},
	{"what a caller knows is not heeded", segmentsSQL + "#reserve", `SET first_id = REPLY(GREATEST(max_id, :above) + 1),`, `SET first_id = REPLY(max_id + 1),`, contractOnSQLite},
	{"what a caller knows is not noted", segmentsSQL + "#reserve", `max_id = GREATEST(max_id, :above) + LEAST(:n, :max - GREATEST(max_id, :above))`, `max_id = max_id + LEAST(:n, :max - GREATEST(max_id, :above))`, contractOnSQLite},
	{"the last number is given again", segmentsSQL + "#reserve", `SET first_id = REPLY(GREATEST(max_id, :above) + 1),`, `SET first_id = REPLY(GREATEST(max_id, :above)),`, contractOnSQLite},
	{"numbers above the last", segmentsSQL + "#reserve", `LEAST(:n, :max - GREATEST(max_id, :above))`, `:n`, contractOnSQLite},
	{"no end", segmentsSQL + "#reserve", ` AND GREATEST(max_id, :above) < :max`, ` AND :max > 0`, contractOnSQLite},
	{"all names are one", segmentsSQL + "#reserve", `WHERE name = :name AND GREATEST`, `WHERE :name <> '' AND GREATEST`, contractOnSQLite},
	{"whatever the name beside has given", segmentsSQL + "#reserve_beside", ` WHERE b.given BETWEEN :from AND :to`, ` WHERE :from <= :to`, contractOnSQLite},
	{"who creates a name that is there begins anew", segmentsSQL + "#add", `ON CONFLICT DO NOTHING`, `ON CONFLICT DO UPDATE SET max_id = excluded.max_id`, contractOnSQLite},
	{"who has numbers creates a name that is lost", "numbers/segment_config.go", `!c.MustExist && above == 0`, `!c.MustExist`, "TestSegmentsWipedWhileRunning/sqlite"},
	{"a name that was not created is", segmentsGo, `case !r.Create || *added:`, `case *added:`, contractOnSQLite},
	{"whatever the clock says", segmentsSQL + "#reserve", `{now} BETWEEN :notbefore AND :notafter`, `{now} > 0 AND :notbefore <= :notafter`, contractOnSQLite},
	{"a rollback leaves a gap", "internal/sqlconn/run.go", "\t\treturn f(tx)\n", "", "TestGaplessRollback/sqlite"},
	{"gapless numbers outside of a transaction", seriesGo, `if s.cfg.Gapless {`, `if false {`, "TestGaplessWrongTransactions/sqlite"},
	{"numbers with gaps in a transaction", seriesGo, `if !s.cfg.Gapless {`, `if false {`, "TestGaplessWrongTransactions/sqlite"},
	{"a process with another period starts", seriesGo, `recorded != own {`, `recorded < 0 {`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a process with another zone starts", seriesGo, `"%s %s %s %d", c.Period, zone`, `"%s %.0s %s %d", c.Period, zone`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a process with another start starts", seriesGo, `zone, c.YearStarts, c.Start)`, `zone, c.YearStarts, 0)`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a segment takes numbers of a scope", "numbers/segment.go", `err := i.apart(ctx, above)`, `err := error(nil)`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a strict segment takes numbers of a scope", "numbers/segment.go", `err := i.apart(ctx, 0)`, `err := error(nil)`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a series takes the numbers of a segment", seriesGo, `own, s.unused(ctx)`, `own, error(nil)`, "TestSeriesOfAnotherPeriod/sqlite"},
	{"a call creates a name twice", segmentsGo, `case !r.Create || *added:`, `case !r.Create:`, "TestNameLostWhileItIsCreated/sqlite"},
}}

const seriesGo = "numbers/series.go"

// onSeries is how a process numbers by period and scope.
var onSeries = list{title: "series", pkg: "numbers", mutants: []mutant{
	{"namespaces share names", seriesGo, `numberstore.Key(cfg.Namespace, cfg.Name)`, `numberstore.Key("", cfg.Name)`, "TestScopes"},
	{"the second of two first starts fails", seriesGo, `if errors.Is(err, ErrExists) {`, `if false {`, "TestOtherPeriod"},
	{"who is behind gets no number", seriesGo, `if !errors.Is(err, ErrEnd) {`, `if !errors.Is(err, ErrEnd) || true {`, "TestTwoProcessesAroundMidnight"},
	{"numbers of one period in another", seriesGo, `|| !s.begin(later).Equal(later):`, `:`, "TestOtherPeriod"},
	{"whatever the clock of the store says", seriesGo, `if s.cfg.Period != none {`, `if false {`, "TestClocksThatDiffer"},
	{"no room for clocks that differ", seriesGo, `Add(-lease.MaxClockError)`, `Add(0)`, "TestBoundsOfThePeriod"},
	{"periods begin where the host is", seriesGo, `hostclock.Now(ctx).In(s.zone)`, `hostclock.Now(ctx)`, "TestPeriods/east"},
	{"a period begins before its day", "numbers/period.go", `if t.Day() == day {`, `if true {`, "TestBoundsOfThePeriod"},
	{"a copy issues what was asked for before", seriesGo, `now := s.copies.Load(); now != copies {`, `now := s.copies.Load(); now < copies {`, "TestSeriesResetForgetsAnswersUnderWay"},
	{"a format that prints two periods alike", "numbers/format.go", `if !slices.ContainsFunc(names,`, `if false && !slices.ContainsFunc(names,`, "TestConfig"},
}}

// onRedisSegments are the scripts of package internal/redisnumbers, of its Store and of its Dispenser.
var onRedisSegments = list{title: "redis segments and dispenser", pkg: "internal/redisnumbers", loaders: []mutant{luaLoader}, mutants: []mutant{
	// Segments.
	{"a name beside is not looked at", "internal/redisnumbers/store.go", `if r.Beside != "" {`, `if false {`, "TestBesideIsRefused"},
	{"a record of a series is looked for in Redis", "internal/redisnumbers/store.go", `if namespace == "" {`, `if false {`, "TestBesideIsRefused"},
	{"what is reserved is not noted", reserveLua, `'given', last, 'run'`, `'run'`, contractOnMini},
	{"what a caller knows is not heeded", reserveLua, `if not given or less(given, above) then`, `if not given or verb ~= 'reserve' and less(given, above) then`, contractOnMini},
	{"numbers above the last", reserveLua, `if less(max, last) then last = max end`, ``, contractOnMini},
	{"no end", reserveLua, `if not less(given, max) then return { 'END', given } end`, ``, contractOnMini},
	{"a name that is lost is made anew", reserveLua, `return { 'UNKNOWN' }`, `given, run = '0', incarnation`, afterALoss},
	{"a promotion of the same process goes unseen", prelude, `run .. '/' .. replid`, `run`, "TestFailoverThereAndBack/miniredis/segments"},
	{"a name that was not compared is taken for unchanged", reserveLua, `and run ~= incarnation`, `and run ~= '' and run ~= incarnation`, "TestSegmentsNotComparedBefore/miniredis"},
	{"another server goes unseen", reserveLua, `and run ~= incarnation then`, `and false then`, afterALoss},
	{"resumed below what is on record", reserveLua, `less(given, above) then`, `verb == 'advance' or less(given, above) then`, afterALoss},
	{"a name that is there is created", reserveLua, `return { 'EXISTS' }`, ``, contractOnMini},
	{"numbers compare as texts do", "internal/redisnumbers/base.lua", `#a < #b or #a == #b and a < b`, `a < b`, contractOnMini},
	{"sums as exact as those of Lua", "internal/redisnumbers/base.lua", `local low = tonumber(string.sub(a, -9)) + n`, "do return str(tonumber(a) + n) end\n  local low = tonumber(string.sub(a, -9)) + n", contractOnMini},
	// The dispenser.
	{"a lower maximum uses up the numbers of others", dispenserLua, `if not less(most, from) then h.used = h.used + count end`, `h.used = h.used + count`, "TestDispenserKeepsTheContract"},
	{"what is given is not noted", dispenserLua, `h.used = h.used + count`, ``, "TestStrictOrder"},
	{"a promotion of the same process goes unseen, dispenser", prelude, `run .. '/' .. replid`, `run`, "TestFailoverThereAndBack/miniredis/dispenser"},
	{"another server's segments are gone on with", dispenserLua, `lost = incarnation ~= '' and h.run ~= incarnation`, ``, "TestStaleReplica"},
	{"what a caller knows is not heeded, dispenser", dispenserLua, `lost or following and not less(above, following)`, `lost`, "TestStaleStateIsSeenByWhoKnowsMore"},
	{"more than a segment has", dispenserLua, `math.min(n, h.len - h.used)`, `n`, "TestDispenserKeepsTheContract"},
	{"a segment is installed by anybody", dispenserLua, `if lost or h.want ~= me then`, `if lost then`, "TestInstalledOnce/wiped, and another was told"},
	{"what is behind is replaced while the current one lasts", dispenserLua, `elseif h.used == h.len then`, `elseif true then`, "TestStrictOrder"},
}}

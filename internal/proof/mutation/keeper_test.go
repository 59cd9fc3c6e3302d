package mutation_test

const (
	keeperGo = "lease/keeper/keeper.go"
	outageGo = "lease/keeper/outage.go"
)

// onKeeper is what the keeper does with a worker id between borrowing it and giving it
// back.
var onKeeper = list{title: "keeper", pkg: "lease/keeper", mutants: []mutant{
	// Borrowing.
	{"another owner at each retry of a start", keeperGo, "owner := lease.NewOwner()\n\tvar reason error // the last error other than that time is up\n\tfor {", "var reason error\n\tfor {\n\t\towner := lease.NewOwner()", "TestLostReplyOfABorrowLeaksNoSlot"},
	{"another owner at each retry after a loss", keeperGo, `again, err := k.borrow(call, owner)`, "owner = lease.NewOwner()\n\t\t\tagain, err := k.borrow(call, owner)", "TestLostReplyOfABorrowAfterALossLeaksNoSlot"},
	{"one owner for all borrows", keeperGo, `owner, pause = lease.NewOwner(), 0`, `pause = 0`, "TestEachBorrowHasAnOwnerOfItsOwn"},
	{"adopts what nobody waits for any more", keeperGo, `if err = ctx.Err(); err == nil {`, `if err == nil {`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"does not give back what nobody waits for any more", keeperGo, `errors.Join(err, k.release(ctx, g, g.Floor))`, `err`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"gives back as used what nobody waits for any more", keeperGo, `k.release(ctx, g, g.Floor)`, `k.release(ctx, g, g.Ceiling)`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"does not tell the center its clock", keeperGo, `req.Owner, req.Local = owner, time.Now().UnixMilli()`, `req.Owner = owner`, "TestCentersClockFarOff"},
	{"dates a borrow by when it was asked for", keeperGo, "g, err := k.cfg.Center.Acquire(ctx, req)\n\tat := k.cfg.Generator.Elapsed()", "at := k.cfg.Generator.Elapsed()\n\tg, err := k.cfg.Center.Acquire(ctx, req)", "TestSlowCenterSetsNoClockAhead"},
	{"tries again where the setup cannot work", keeperGo, `errors.Is(err, lease.ErrSetup):`, `false:`, "TestSetupThatCannotWorkFailsAtOnce"},
	{"tries again where the members differ", keeperGo, `case errors.As(err, &mismatch), errors`, `case mismatch != nil, errors`, "TestMismatchFailsAtOnce"},
	{"a start that ends after its context", keeperGo, `end.Add(-min(500*time.Millisecond, time.Until(end)/10))`, `end.Add(time.Second)`, "TestCenterHangsAtStart"},
	{"ends with the context of its start", keeperGo, `context.WithCancel(context.WithoutCancel(ctx))`, `context.WithCancel(ctx)`, "TestTheContextOfTheStartMayEnd"},
	{"waits for what outlasts its time", keeperGo, `max(again, quarantined(err))`, `again`, "TestExactTimes"},
	{"exact times unasked", keeperGo, `if !cfg.ExactTimes {`, `if false {`, "TestStartAfterALoss"},
	{"no exact times", keeperGo, `if !cfg.ExactTimes {`, `if true {`, "TestExactTimes"},
	{"ids ahead of the clock for a range shorter than a tick", keeperGo, `max(250*time.Millisecond, 3*l.TimeUnit)`, `250*time.Millisecond`, "TestStartAfterALossWithCoarseTicks"},
	{"a start after a loss that waits for a long range", keeperGo, `max(250*time.Millisecond, 3*l.TimeUnit)`, `max(time.Second, 3*l.TimeUnit)`, "TestStartAfterALoss"},
	{"does not notice another loss while it waits", keeperGo, `pause = time.Second / 2`, `pause = maxPause`, "TestQuarantineIsAskedAboutUntilItEnds"},
	{"asks all the time while the center lends nothing", keeperGo, `min(q.Wait(), pause)`, `min(q.Wait()/8, pause)`, "TestQuarantineIsAskedAboutUntilItEnds"},
	{"all replicas ask in the millisecond in which the center lends", keeperGo, ` + k.retry() - k.jitter(k.retry())`, ``, "TestReplicasSpreadAfterAQuarantine"},
	{"shows no quarantine", keeperGo, `state = Quarantined`, `_ = Quarantined`, "TestExactTimes"},
	// Renewing.
	{"renews too late", keeperGo, `d := min(g.TTL/3, max(`, `d := min(g.TTL, max(g.TTL, `, "TestKeeperRenewsUntilItStops"},
	{"renews a short range as late as a long one", keeperGo, `min(g.TTL/3, max(left/2, k.retry()/10))`, `min(g.TTL/3, max(left, g.TTL/3))`, "TestShortRangeLastsUntilItsRenewal"},
	{"renews a range that lies ahead without end", keeperGo, `min(g.TTL/3, max(left/2, k.retry()/10))`, `min(left, k.retry()/10)`, "TestFailoverPausesNoHolder"},
	{"takes a range that lies ahead for a long one", keeperGo, `g.Ceiling-max(g.Floor, g.Now)`, `g.Ceiling-g.Now`, "TestShortRangeLastsUntilItsRenewal"},
	{"extends a range by one that begins later", keeperGo, `if next.Floor != k.lent.Floor {`, `if false {`, "TestFailoverPausesNoHolder"},
	{"a quarantine is a loss", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case errors.Is(err, lease.ErrLost), errors.As(err, new(*lease.QuarantineError)):`, "TestFailoverPausesNoHolder"},
	{"tells of a loss at each renewal", keeperGo, `if g.Floor != k.grant.Floor {`, `if true {`, "TestFailoverPausesNoHolder"},
	{"tells nobody that ids lie ahead", keeperGo, `if g.Floor != k.grant.Floor {`, `if false {`, "TestFailoverPausesNoHolder"},
	{"asks for its next range before the center lends it", keeperGo, "errors.As(err, &q) {\n\t\treturn k.after(q)", "errors.As(err, &q) {\n\t\treturn k.jitter(k.retry() / 10)", "TestQuarantineIsAskedAboutUntilItEnds"},
	{"a schedule makes a renewal late", keeperGo, `next.After(from) && next.Sub(from) <= d {`, `next.After(from) {`, "TestScheduleNeverMakesARenewalLate/once a year"},
	{"a schedule in the past renews without end", keeperGo, "next.After(from) && next.Sub(from) <= d {\n\t\t\treturn next.Sub(from)", "next.Sub(from) <= d {\n\t\t\treturn max(100*time.Millisecond, next.Sub(from))", "TestScheduleNeverMakesARenewalLate/in the past"},
	{"a point of a schedule is met twice", keeperGo, `return next.Sub(from) //`, `return k.jitter(next.Sub(from)) //`, "TestEachPointOfAScheduleIsOneRenewal"},
	{"all replicas renew at the points of a schedule", keeperGo, `k.early = req.TTL/3 - k.jitter(req.TTL/3)`, `k.early = 0`, "TestReplicasSpreadAroundASchedule"},
	{"a renewal that fails is a loss", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case true:`, "TestShortOutageCostsNothing"},
	{"a loss is a renewal that fails", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case false:`, "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"renews what it has lost", keeperGo, "k.grant = lease.Grant{}\n\t\tif k.cfg.OnLost != nil", "if k.cfg.OnLost != nil", "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"drops the range of a lost lease", keeperGo, "k.grant = lease.Grant{}\n\t\tif k.cfg.OnLost != nil", "k.grant = lease.Grant{}\n\t\tk.cfg.Generator.Drop()\n\t\tif k.cfg.OnLost != nil", "TestLostLeaseIsUsedUpWhereNoOtherIsFree"},
	{"tells nobody of a loss", keeperGo, `k.cfg.OnLost(err)`, `_ = err`, "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"a renewal without a time limit", keeperGo, `min(callTimeout, k.grant.TTL/3)`, `time.Hour`, "TestCenterHangsDuringARenewal"},
	{"dates a renewal by when it was asked for", keeperGo, "g, err := k.cfg.Center.Renew(call, k.grant)\n\tat := k.cfg.Generator.Elapsed()", "at := k.cfg.Generator.Elapsed()\n\tg, err := k.cfg.Center.Renew(call, k.grant)", "TestSlowCenterSetsNoClockAhead"},
	{"does not install a renewal", keeperGo, `if !k.cfg.Generator.Extend(k.lent, next) {`, `if false {`, "TestKeeperRenewsUntilItStops"},
	{"forgets what a renewal changed of the grant", keeperGo, `k.grant, k.lent = g, next`, `k.lent = next`, "TestFailoverPausesNoHolder"},
	{"forgets what a renewal changed of the range", keeperGo, `k.grant, k.lent = g, next`, `k.grant = g`, "TestKeeperRenewsUntilItStops"},
	// Giving back.
	{"gives back before the generator has stopped", keeperGo, "lastUsed := k.cfg.Generator.Stop()\n\tg := k.grant", "lastUsed, g := time.Now().UnixMilli(), k.grant\n\tdefer k.cfg.Generator.Stop()", "TestNothingIsIssuedWhenAWorkerIDIsGivenBack"},
	{"gives back and goes on issuing", keeperGo, `lastUsed := k.cfg.Generator.Stop()`, `lastUsed := time.Now().UnixMilli()`, "TestKeeperRenewsUntilItStops"},
	{"gives back as if all had been used", keeperGo, `err := k.release(ctx, g, lastUsed)`, `err := k.release(ctx, g, max(lastUsed, g.Ceiling))`, "TestKeeperRenewsUntilItStops"},
	{"gives back as if nothing had been used", keeperGo, `err := k.release(ctx, g, lastUsed)`, `err := k.release(ctx, g, min(lastUsed, g.Floor))`, "TestKeeperRenewsUntilItStops"},
	{"gives back only once", keeperGo, `if !sleep(call, 100*time.Millisecond) {`, `if true {`, "TestReleaseIsTriedAgain"},
	{"gives nothing back when its context has ended", keeperGo, `context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)`, `context.WithTimeout(ctx, releaseTimeout)`, "TestReleaseIsTriedAgain"},
	{"a stop waits for what hangs", keeperGo, "k.interrupt()\n\t}\n\tk.mu.Unlock()", "_ = 0\n\t}\n\tk.mu.Unlock()", "TestStopBesideAnythingOnAFrozenStore/a reset"},
	{"borrows though it is stopped", keeperGo, "if ctx.Err() != nil {\n\t\treturn k.attempted(began, context.Cause(ctx))", "if false {\n\t\treturn nil", "TestStopBesideAnythingOnAFrozenStore/a reset that waits for a borrow to be given back"},
	// What the log says.
	{"ids stop without a word", outageGo, `errors.Is(err, snowflake.ErrLeaseExpired) &&`, `errors.Is(err, snowflake.ErrStopped) &&`, "TestTheLogTellsAnOutage/the center is away"},
	{"says that ids stop while they go on", outageGo, `case err == nil:` + and + `case errors.Is(err, snowflake.ErrLeaseExpired) &&`, `case errors.Is(err, snowflake.ErrStopped):` + and + `case`, "TestTheLogTellsWhenIdsStopped/after the timer"},
	{"ids resume without a word", outageGo, `if !o.since.IsZero() {`, `if false {`, "TestTheLogTellsAnOutage/the center is away"},
	{"tells one outage only", outageGo, "} else {\n\t\to.timer.Reset(k.left())", "} else if false {", "TestTheLogTellsAnOutage/the center is away"},
	// A process that was copied.
	{"a copy gives back what both hold", keeperGo, "forgotten := k.grant\n\tk.grant = lease.Grant{}", "forgotten := k.grant\n\t_ = k.release(ctx, k.grant, 0)\n\tk.grant = lease.Grant{}", "TestResetDuringARenewal"},
	{"a copy goes on issuing", keeperGo, "func (k *Keeper) Reset(ctx context.Context) error {\n\tk.cfg.Generator.Drop()" + and + "k.cfg.Generator.Drop()\n\tforgotten", "func (k *Keeper) Reset(ctx context.Context) error {" + and + "forgotten", "TestResetWhileTheCenterIsDown"},
	{"a copy renews what both hold", keeperGo, "forgotten := k.grant\n\tk.grant = lease.Grant{}", "forgotten := k.grant", "TestResetForgetsTheGrant"},
}}

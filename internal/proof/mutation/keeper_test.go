package mutation_test

const (
	keeperGo = "lease/keeper/keeper.go"
	outageGo = "lease/keeper/outage.go"
	paceGo   = "lease/keeper/pace.go"
)

// onKeeper is what the keeper does with a worker id between borrowing it and giving it
// back.
var onKeeper = list{title: "keeper", pkg: "lease/keeper", mutants: []mutant{
	// Borrowing.
	{"another owner at each retry of a start", keeperGo, "owner := lease.NewOwner()\n\tk.pace = newPace(k.cfg.Request.TTL)\n\tvar reason error // the last error other than that time is up\n\tfor {", "k.pace = newPace(k.cfg.Request.TTL)\n\tvar reason error\n\tfor {\n\t\towner := lease.NewOwner()", "TestLostReplyOfABorrowLeaksNoSlot"},
	{"another owner at each retry after a loss", keeperGo, `final, err := k.borrow(call, owner)`, "owner = lease.NewOwner()\n\t\t\tfinal, err := k.borrow(call, owner)", "TestLostReplyOfABorrowAfterALossLeaksNoSlot"},
	{"one owner for all borrows", keeperGo, `owner, pause = lease.NewOwner(), 0`, `pause = 0`, "TestEachBorrowHasAnOwnerOfItsOwn"},
	{"adopts what nobody waits for any more", keeperGo, `if err = ctx.Err(); err == nil {`, `if err == nil {`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"does not give back what nobody waits for any more", keeperGo, `errors.Join(err, k.release(ctx, g, g.Floor))`, `err`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"gives back as used what nobody waits for any more", keeperGo, `k.release(ctx, g, g.Floor)`, `k.release(ctx, g, g.Ceiling)`, "TestContextThatEndsDuringABorrowGivesTheSlotBack"},
	{"does not tell the center its clock", keeperGo, `req.Owner, req.Local = owner, k.began.UnixMilli()`, `req.Owner = owner`, "TestCentersClockFarOff"},
	{"dates a borrow by when it was asked for", keeperGo, "g, err := k.cfg.Center.Acquire(ctx, req)\n\tat := k.cfg.Generator.Elapsed()", "at := k.cfg.Generator.Elapsed()\n\tg, err := k.cfg.Center.Acquire(ctx, req)", "TestSlowCenterSetsNoClockAhead"},
	{"tries again where the setup cannot work", keeperGo, ` || errors.Is(err, lease.ErrSetup), err`, `, err`, "TestSetupThatCannotWorkFailsAtOnce"},
	{"tries again where the members differ", keeperGo, `errors.As(err, new(*lease.MismatchError)) || `, ``, "TestMismatchFailsAtOnce"},
	{"a start that ends after its context", keeperGo, `end.Add(-min(500*time.Millisecond, time.Until(end)/10))`, `end.Add(time.Second)`, "TestCenterHangsAtStart"},
	{"ends with the context of its start", keeperGo, `context.WithCancel(context.WithoutCancel(ctx))`, `context.WithCancel(ctx)`, "TestTheContextOfTheStartMayEnd"},
	{"waits for what outlasts its time", keeperGo, `max(again, quarantined(err))`, `again`, "TestExactTimes"},
	{"exact times unasked", keeperGo, `if !cfg.ExactTimes {`, `if false {`, "TestStartAfterALoss"},
	{"no exact times", keeperGo, `if !cfg.ExactTimes {`, `if true {`, "TestExactTimes"},
	{"ids ahead of the clock for a range shorter than a tick", keeperGo, `max(250*time.Millisecond, 3*l.TimeUnit)`, `250*time.Millisecond`, "TestStartAfterALossWithCoarseTicks"},
	{"a start after a loss that waits for a long range", keeperGo, `max(250*time.Millisecond, 3*l.TimeUnit)`, `max(time.Second, 3*l.TimeUnit)`, "TestStartAfterALoss"},
	{"does not notice another loss while it waits", keeperGo, `longest = time.Second / 2`, `longest = maxPause`, "TestQuarantineIsAskedAboutUntilItEnds"},
	{"asks all the time while the center lends nothing", keeperGo, `min(q.Wait(), longest)`, `min(q.Wait()/8, longest)`, "TestQuarantineIsAskedAboutUntilItEnds"},
	{"all replicas ask in the millisecond in which the center lends", keeperGo, `return d, d + k.retry()/10`, `return d, d`, "TestReplicasSpreadAfterAQuarantine"},
	{"shows no quarantine", keeperGo, `state, level = Quarantined, `, `_, level = Quarantined, `, "TestExactTimes"},
	// Renewing.
	{"renews too late", keeperGo, `d := min(g.TTL/3, max(`, `d := min(g.TTL, max(g.TTL, `, "TestKeeperRenewsUntilItStops"},
	{"renews a short range as late as a long one", keeperGo, `min(g.TTL/3, max(left/2, k.retry()/10))`, `min(g.TTL/3, max(left, g.TTL/3))`, "TestShortRangeLastsUntilItsRenewal"},
	{"renews a range that lies ahead without end", keeperGo, `min(g.TTL/3, max(left/2, k.retry()/10))`, `min(left, k.retry()/10)`, "TestFailoverPausesNoHolder"},
	{"takes a range that lies ahead for a long one", keeperGo, `g.Ceiling-max(g.Floor, g.Now)`, `g.Ceiling-g.Now`, "TestShortRangeLastsUntilItsRenewal"},
	{"extends a range by one that begins later", keeperGo, `if next.Floor != k.lent.Floor {`, `if false {`, "TestFailoverPausesNoHolder"},
	{"a quarantine is a loss", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case errors.Is(err, lease.ErrLost), errors.As(err, new(*lease.QuarantineError)):`, "TestFailoverPausesNoHolder"},
	{"tells of a loss at each renewal", keeperGo, `if g.Floor != k.grant.Floor {`, `if true {`, "TestFailoverPausesNoHolder"},
	{"tells nobody that ids lie ahead", keeperGo, `if g.Floor != k.grant.Floor {`, `if false {`, "TestFailoverPausesNoHolder"},
	{"asks for its next range before the center lends it", keeperGo, `max(10*time.Millisecond, min(q.Wait(), longest))`, `min(longest, k.retry()/10)`, "TestQuarantineIsAskedAboutUntilItEnds"},
	{"a schedule makes a renewal late", keeperGo, `next.After(from) && next.Sub(from) <= d {`, `next.After(from) {`, "TestScheduleNeverMakesARenewalLate/once a year"},
	{"a schedule in the past renews without end", keeperGo, "next.After(from) && next.Sub(from) <= d {\n\t\t\treturn next.Sub(from)", "next.Sub(from) <= d {\n\t\t\treturn max(100*time.Millisecond, next.Sub(from))", "TestScheduleNeverMakesARenewalLate/in the past"},
	{"a point of a schedule is met twice", keeperGo, `return next.Sub(from) //`, `return k.jitter(mostly(next.Sub(from))) //`, "TestEachPointOfAScheduleIsOneRenewal"},
	{"all replicas renew at the points of a schedule", keeperGo, `k.early = req.TTL/3 - k.jitter(mostly(req.TTL/3))`, `k.early = 0`, "TestReplicasSpreadAroundASchedule"},
	{"a renewal that fails is a loss", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case true:`, "TestShortOutageCostsNothing"},
	{"a loss is a renewal that fails", keeperGo, `case errors.Is(err, lease.ErrLost):`, `case false:`, "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"renews what it has lost", keeperGo, "k.grant = lease.Grant{}\n\t\tif k.cfg.OnLost != nil", "if k.cfg.OnLost != nil", "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"drops the range of a lost lease", keeperGo, "k.grant = lease.Grant{}\n\t\tif k.cfg.OnLost != nil", "k.grant = lease.Grant{}\n\t\tk.cfg.Generator.Drop()\n\t\tif k.cfg.OnLost != nil", "TestLostLeaseIsUsedUpWhereNoOtherIsFree"},
	{"tells nobody of a loss", keeperGo, `k.cfg.OnLost(err)`, `_ = err`, "TestLostLeaseIsReplacedWhileIdsGoOn"},
	{"a renewal without a time limit", keeperGo, `min(k.pace.patience, k.grant.TTL/3)`, `time.Hour`, "TestCenterHangsDuringARenewal"},
	{"dates a renewal by when it was asked for", keeperGo, "g, err := k.cfg.Center.Renew(call, k.grant)\n\tat := k.cfg.Generator.Elapsed()", "at := k.cfg.Generator.Elapsed()\n\tg, err := k.cfg.Center.Renew(call, k.grant)", "TestSlowCenterSetsNoClockAhead"},
	{"does not install a renewal", keeperGo, `if !k.cfg.Generator.Extend(k.lent, next) {`, `if false {`, "TestKeeperRenewsUntilItStops"},
	{"forgets what a renewal changed of the grant", keeperGo, `k.grant, k.lent = g, next`, `k.lent = next`, "TestFailoverPausesNoHolder"},
	{"forgets what a renewal changed of the range", keeperGo, `k.grant, k.lent = g, next`, `k.grant = g`, "TestKeeperRenewsUntilItStops"},
	// Trying again.
	{"pauses do not grow", paceGo, `max(2*p.pause, firstPause)`, `firstPause`, "TestPausesGrow/renew"},
	{"pauses grow without end", paceGo, `min(max(2*p.pause, firstPause), p.maxPause)`, `max(2*p.pause, firstPause)`, "TestPausesGrow/renew"},
	{"pauses stay long after a renewal", paceGo, `p.pause = 0`, ``, "TestPausesGrow/renew"},
	{"pauses stay long after a borrow", keeperGo, "k.pace.success()\n\tk.grant, k.lent", "k.grant, k.lent", "TestPausesGrow/acquire"},
	{"all try again in the same instant", keeperGo, `return d / 2, d`, `return d, d`, "TestPausesDiffer"},
	{"calls get no longer", paceGo, `p.patience*3/2`, `p.patience`, "TestPatienceGrows/renew"},
	{"calls get longer without end", paceGo, `min(p.patience*3/2, p.maxPatience)`, `p.patience * 3 / 2`, "TestPatienceGrows/acquire"},
	{"a success takes all patience back", paceGo, `max(p.patience*2/3, callTimeout)`, `callTimeout`, "TestPatienceGrows/renew"},
	{"no success takes patience back", paceGo, `max(p.patience*2/3, callTimeout)`, `max(p.patience, callTimeout)`, "TestPatienceGrows/renew"},
	{"a renewal lasts for more than a third of a short TTL", keeperGo, `min(k.pace.patience, k.grant.TTL/3)`, `k.pace.patience`, "TestPatienceIsAThirdOfAShortTTL"},
	{"a borrow after a loss without a time limit", keeperGo, `context.WithTimeout(ctx, k.pace.patience)`, `context.WithTimeout(ctx, time.Hour)`, "TestPatienceGrows/acquire"},
	{"a start gives up half a pause before its time", keeperGo, `most = min(most, max(time.Until(deadline)/2, firstPause))`, ``, "TestStartTriesUntilItsTimeIsUp"},
	{"a quarantine is a failure", keeperGo, `if errors.As(err, new(*lease.QuarantineError)) {`, `if false {`, "TestQuarantineIsNoFailure"},
	// Giving back.
	{"gives back before the generator has stopped", keeperGo, "lastUsed := k.cfg.Generator.Stop()\n\tg := k.grant", "lastUsed, g := time.Now().UnixMilli(), k.grant\n\tdefer k.cfg.Generator.Stop()", "TestNothingIsIssuedWhenAWorkerIDIsGivenBack"},
	{"gives back and goes on issuing", keeperGo, `lastUsed := k.cfg.Generator.Stop()`, `lastUsed := time.Now().UnixMilli()`, "TestKeeperRenewsUntilItStops"},
	{"gives back as if all had been used", keeperGo, `err := k.release(ctx, g, lastUsed)`, `err := k.release(ctx, g, max(lastUsed, g.Ceiling))`, "TestKeeperRenewsUntilItStops"},
	{"gives back as if nothing had been used", keeperGo, `err := k.release(ctx, g, lastUsed)`, `err := k.release(ctx, g, min(lastUsed, g.Floor))`, "TestKeeperRenewsUntilItStops"},
	{"gives back only once", keeperGo, `if errors.Is(err, lease.ErrSetup) || !sleep(call, k.jitter(pause/2, pause)) {`, `if true {`, "TestReleaseIsTriedAgain"},
	{"gives back all the time", keeperGo, `pause = min(2*pause, releaseTimeout/5)`, `pause = min(pause, releaseTimeout/5)`, "TestReleasesBackOff"},
	{"gives back for seconds what nobody takes", keeperGo, `errors.Is(err, lease.ErrSetup) || !sleep`, `!sleep`, "TestReleasesBackOff"},
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
	{"gives back a worker id as unused if the caller stopped the generator", keeperGo, `lastUsed = g.Ceiling`, `lastUsed = 0`, "TestNextHolderIsAboveAGeneratorThatTheCallerStopped"},
}}

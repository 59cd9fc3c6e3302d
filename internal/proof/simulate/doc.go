// Package simulate plays a service of many processes with the real generator, the
// real keeper and the real centers through whatever clocks, networks and stores can
// do to them, in virtual time, and checks after each step that ids are unique. A seed
// is a run, the same to its last step whenever and wherever it is played.
//
//	plan := simulate.PlanOf(4711)
//	result := simulate.Run(t, plan, simulate.WorkerIDs{Store: simulate.NewRedis})
//
// # What is real
//
// The keeper and the generator run as they are, in goroutines within a bubble of
// testing/synctest, where time passes only when all of them wait. The center is the
// product's on a Store: the Lua of redisseq on a miniredis behind a pipe, the SQL of
// dbseq on a SQLite in memory, the locked files of local in a directory, or the rules
// that the model check explores. Only what a
// process cannot know is made: its clocks (WithClock, Jitter), its wire to the center,
// and the clock that the store answers with.
//
// # What happens
//
// A Plan says how many nodes there are, how bad the network always is and which Faults
// happen when. Requests and replies are delayed, overtake each other, are lost, arrive
// twice or long after their caller has gone. Processes crash, stop in good order, stand
// still between reading the clock and using it, and wake with a hot loop and replies of
// another age. Clocks are skewed, too fast, stopped and stepped. The center is out of
// reach, restarts, forgets all or some records, is replaced by a replica that is behind,
// and has its clock stepped: by any amount, but where a plan also loses records by the
// skew at most, which is what the product promises to survive (TestLimits shows both
// sides of that). Losses come alone, and two or three in a row. At the end of a plan all
// is mended. Some members ask for exact times.
//
// In CalmPlans hosts and network are well, a worker id is free, and the center loses
// records every few seconds.
//
// On Local, which LocalPlans are for, the processes are those of one host. The network
// is its disk: calls are late, fail, or fail though they were written; none is made
// twice, or after the end of its process, with which its locks go. The center's clock is
// the host's and steps as it likes; a restart is one of the host; records are damaged.
// What happens to a directory that is lost is not in these plans: TestLocalLimits shows
// it.
//
// # What is checked
//
// At each step: no id twice; each id within its grant; ids rise in a process; no two
// borrowers of a worker id have a millisecond in common; a mark falls only by the release
// of its owner or a loss of records. And once all is mended: as many processes as there
// are worker ids hold one and use it, within the time that leases, a quarantine and
// retries take. In calm plans besides: no holder is ever without ids, and who starts after
// a loss has one within the skew and a second, or twice that where it was waiting when the
// loss came; exact times are no part of that. A Result counts what was broken and has the trace.
//
// # How it repeats
//
// What happens at one instant happens in an order that nobody fixes, so nothing does:
// whatever waits, waits for an instant of its own (see lanes). All chance comes from the
// plan's dice, separately for each process and purpose. TestReproducible holds whole
// traces of many seeds against each other.
//
// # Where it stands
//
//	world.go                    a run: what happens in it, in which order, and how it ends
//	clock.go lanes.go           time: of hosts, and when each goroutine wakes
//	host.go process.go wire.go  nodes, what runs on them, and the network between
//	plan.go plans.go faults.go  what will happen, how it is drawn, and how it is done
//	workerids.go ledger.go calm.go        the subject WorkerIDs, and what it checks
//	numbers.go numberwire.go past.go numberplans.go  the subject Numbers
//	store.go memory.go redis.go sqlite.go local.go   what keeps records
//	trace.go tally.go           what came of it
//
// A subject says what processes ask for and what they may get; all else is one world.
//
// # Numbers
//
// With Numbers processes take numbers from a Source: a counter.Counter, segments in SQL
// or Redis, a segments.Dispenser before SQL; or ids for times past from a history.Issuer.
// Checked are duplicates, order within a process, and where it is strict across all of
// them; that what a process issues was given to it, and not before it was copied; that
// it is no older than MaxAge; that an id for a time past is of that time, of a reserved
// worker id, and rises in its span; and that all issue again once all is mended. What the
// product leaves to chance within a moment is waited out (travel, patient).
//
// # How it is used
//
// TestSeeds, TestCalm and TestSequenceSeeds play seeds, and print of a bad one how to run
// it alone. TestTeeth and TestSequenceTeeth break the protocol in some fifty ways and
// demand that these seeds find each. TestShrink lets rapid shrink a bad plan. TestSoak,
// with the build tag soak, plays as many seeds as it is told.
package simulate

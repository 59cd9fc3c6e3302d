// Package simulate runs a service of many processes in virtual time and checks after
// each step that ids are unique. It uses the real generator, the real keeper and the real
// centers, and exposes them to the faults of clocks, networks and stores. A seed
// determines a run to its last step, on any machine.
//
//	plan := Plans().Example(4711)
//	result := Run(t, plan, WorkerIDs{Store: NewRedis})
//
// # What is real
//
// The keeper and the generator run unchanged, in goroutines within a testing/synctest
// bubble, where time passes only while all of them wait. The center is the product's, on
// one of these stores:
//
//   - the Lua of redisseq on a miniredis behind a pipe
//   - the SQL of dbseq on an in-memory SQLite
//   - the transactions of etcdseq, by its real client without a connection, on the storage code
//     of an etcd member
//   - in memory, the rules that the model check explores
//
// Only the environment of a process is simulated: its clocks (WithClock, Jitter), its
// connection to the center, and the clock that the store answers with.
//
// # What happens
//
// A Plan says how many nodes there are, how bad the network is throughout, and which
// Faults happen when:
//
//   - Requests and replies are delayed, reordered, lost or duplicated, or arrive long
//     after their caller has gone.
//   - Processes crash, stop cleanly, or freeze between reading the clock and using it.
//     They wake in a hot loop, to outdated replies.
//   - Host clocks are skewed, run fast, stop and step.
//   - The center is unreachable, restarts, forgets some or all records, or is replaced by
//     a replica that lags.
//   - The center's clock steps. In plans that lose records it steps back by at most the
//     skew, which is what the product promises to survive. The variants of
//     package model show both sides of that bound. In other plans it steps by any amount.
//
// In a quarter of the plans members differ in TTL, MaxTTL and skew: from the start, or by
// deployments and rollbacks. Losses then take any of the records, and replicas lag, within what
// docs/design/protocol.md promises.
//
// Losses come alone, or two and three in a row. At the end of a plan every fault is
// mended. Some nodes use ExactTimes.
//
// In CalmPlans, hosts and network are healthy, a worker id is free, and the center loses
// records every few seconds.
//
// EtcdPlans are for Etcd, where the center runs in the processes: the network carries the
// requests of its client, and the clock of a host is the center's for that process. So plans
// that lose records keep all these clocks within the skew.
//
// # What is checked
//
// At each step:
//
//   - No id is issued twice.
//   - Each id lies within its grant.
//   - Ids rise within a process.
//   - No two borrowers of a worker id share a millisecond.
//   - A mark falls only by a release of its owner or a loss of records.
//   - No member is refused, and no holder stopped, for the times of another.
//
// Once all faults are mended, as many processes as there are worker ids must hold and use
// one, within the time that leases, a quarantine and retries take.
//
// In calm plans, no holder may ever be without ids, and a process must have ids within the
// skew plus one second of its start or of a later loss. On etcd it may be half of MaxTTL more.
// Nodes with ExactTimes are exempt.
//
// A Result holds the violations and the trace.
//
// # How it repeats
//
// The runtime does not fix the order of goroutines that wake at the same instant, so no two
// wake at the same instant (see lanes). All randomness comes from the plan's dice, separately
// for each process and purpose. TestReproducible compares the whole traces of many seeds.
//
// # Where to find it
//
//	times                     members that differ
//	world                     a run: what happens, in which order, and how it ends
//	clock, lanes              time: host clocks, and when each goroutine wakes
//	host, process, wire       nodes, the processes on them, and the network between
//	plan, plans, faults       plans, how they are drawn, and how faults are carried out
//	workerids, ledger, calm   the subject WorkerIDs and its checks
//	numbers, numberwire, numberplans   the subject Numbers
//	store, memory, redis, sqlite, etcdstore   the stores
//	trace, tally              the outcome
//	fleet                     10,000 processes on a store that is away: how fast they recover
//
// All of them end in _test.go, since nothing but tests uses them.
//
// A subject defines what processes ask for and what they may get. Both subjects share the
// rest of the world.
//
// # Numbers
//
// With Numbers, processes take numbers from a Source: a counter.Counter; segments in
// Redis; or a redisnumbers.Dispenser in front of SQL. What SQL alone counts is one statement,
// which the tests of the store hold. The checks are:
//
//   - No number is issued twice.
//   - Numbers rise within a process and, in strict order, across all processes.
//   - A process issues only numbers that were given to it, and after a copy of its memory
//     only numbers given after the copy.
//   - No number is older than MaxAge.
//   - All processes issue again once every fault is mended.
//
// Where the product chooses a moment at random, the simulation waits until the latest
// moment (travel, patient).
//
// # How it is used
//
// TestSeeds, TestCalm and TestSequenceSeeds play seeds and print how to rerun a seed that
// fails; -count plays more. TestTeeth and TestSequenceTeeth break the protocol in some forty
// ways and require that these seeds find each. TestShrink lets rapid shrink a failing plan.
package simulate

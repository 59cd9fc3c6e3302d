// Package chaos shows that ids stay unique while everything around them fails: real
// processes, real servers, faults of all kinds at once. It is its tests.
//
//	go test -run TestChaos .                             each engine for some seconds
//	go test -v -timeout 0 -run 'TestChaos/redis$' . -chaos.duration=10m -chaos.report=FILE
//	go test ... -chaos.losses=10                         servers lose data ten times as often
//	go test ... -chaos.only='FLUSHALL|deleted'           these faults alone
//	go test -run TestControls .                          what is broken is found
//
// # What runs
//
// A crew of 48 processes, which are the test binary itself, asks one center for 32
// worker ids with a lease of two seconds, and issues ids in short bursts. They reach
// the servers through proxies, a group of processes through each. Three streams of
// faults run side by side, each kind once and then at random; the random choices come
// from -chaos.seed, their timing from the machine:
//
//   - processes are killed, restarted in good order, stopped for a moment, stopped past
//     three TTLs in the middle of issuing and continued, cloned (equal host name and pid);
//   - connections are cut, delayed, half-open, reset after the request was sent, cut off
//     within a request or a reply;
//   - servers are killed and come back with or without their data, hang, lose keys or
//     rows, are flushed, evict, turn read-only, fail over to a replica that is behind, and
//     back to the former primary as it was, or fall back to older data; sentinels
//     promote, a cluster replaces a master or moves the hash slot; another node of a
//     Galera cluster is written to; the clock is stepped both ways.
//
// They stay within what package lease promises: there are never two primaries (the
// former one is killed first), and when records are lost the clock is not further
// behind than the skew (see clock).
//
// # Without a center
//
// TestChaos/local does the same to processes that share a directory (package local).
// There are no servers: besides the faults of processes the host's clock is stepped
// both ways, at times so far back that nobody may start; all processes are killed at
// once, and others start with the clock behind; files of slots are damaged, while they
// are held and after their holders were killed, and locked by a stranger; processes can
// open no file. An administrator deletes damaged files as their error asks for: nobody
// holds them, and the clock has passed all ids of the worker id. What the Limits of
// package local name is left out: files taken away while they are held, and a clock that
// is set back when they are gone.
//
// # What is checked
//
// Each process keeps a journal: what it was lent, before it knows of it, and the ids it
// issued, as runs. After the run the journals are merged in the order of ids:
//
//   - no id is in two runs;
//   - each run lies within a grant that its process had noted before;
//   - ids rise within a process;
//   - no two grants of one worker have a millisecond in common, where one that was given
//     back ends with the last use that the center was told;
//   - when the faults have ended all 32 worker ids are held and in use again.
//
// The report has besides how long it took, after a loss, until a range was lent, where
// nothing else was done to the servers meanwhile; and the longest time without ids of a
// process that had some. That is of a loss only where -chaos.only leaves nothing else, and
// -chaos.processes a worker id for each process.
//
// # Numbers
//
// TestChaos/numbers does the same to processes that issue in the other ways: by a
// redisseq/counter.Counter, prefetched and strict, by segments of a PostgreSQL, by a dispenser,
// and for times past, on a Redis with its replica and a PostgreSQL that is killed, hangs
// and turns read-only, but loses nothing, which is what segments ask of it. Each process
// keeps a journal of what it asked for and got, and when. No number is in two runs;
// numbers rise within a process; and where order is strict none is below one that had
// been returned, to whatever process, before it was asked for. A Sequence is level with
// a clock that was set back only after as long again, and losses wait for that.
//
// Ids for times past lie in the second asked for and carry a reserved worker id, or their
// process ends; their numbers count them, and rise, by the second.
//
// # Controls
//
// TestControls puts processes that break the protocol, and the algorithms of package
// controls, in the same harness, and requires that duplicates are found.
// -chaos.scheme=NAME does so with one of package controls under everything above.
//
// It is a module of its own, so that the proxy stays out of the go.mod that users of
// this module get.
package chaos

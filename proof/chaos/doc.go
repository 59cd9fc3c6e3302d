// Package chaos checks that ids stay unique while everything around them fails. Its
// tests run real processes and real servers under many kinds of faults at once.
//
//	go test -run TestChaos .                             each engine for some seconds
//	go test -v -timeout 0 -run 'TestChaos/redis$' . -chaos.duration=10m -chaos.report=FILE
//	go test ... -chaos.losses=10                         servers lose data ten times as often
//	go test ... -chaos.old=FILE                          every second process runs this older test binary
//	go test ... -chaos.only='FLUSHALL|deleted'           only these faults
//	go test -run TestControls .                          broken schemes are detected
//
// # What runs
//
// 24 processes, each a copy of the test binary, ask one center for 16 worker ids with a
// lease of two seconds and issue ids in short bursts. They reach the servers through
// proxies, which each serve a group of processes. Three streams of faults run side by
// side. Each stream plays every kind of fault once, then picks at random. -chaos.seed
// determines the random choices; their timing depends on the machine.
//
//   - Processes are killed, restarted cleanly, stopped briefly, cloned (same host name and
//     pid), or stopped for three TTLs while they issue ids and then continued. Each has one of
//     three TTLs, max_ttl and skews, so that a restart raises them or takes them back.
//   - Connections are cut, delayed, left half-open, reset after the request was sent, or
//     cut off within a request or a reply.
//   - Servers are killed and return with or without their data. They hang, lose keys or
//     rows (the record of the namespace, those of some worker ids, or both), are flushed, evict
//     keys, or turn read-only. They fail over to a replica that
//     lags, and back to the former primary, or fall back to older data. Sentinels and a
//     cluster promote a replica that lags, or the master is back without its data before
//     they do. The hash slot moves to another master, and writes to another node of a
//     Galera cluster. A minority or a quorum of etcd's members is away; one is cut off, or
//     wiped and joins again; all return to a snapshot. The servers' clock steps both ways.
//
// The faults stay within what package lease promises to survive. There are never two
// primaries: the former one is killed first. When records are lost, the clock is at most
// the skew behind the latest time that it showed (see clock).
//
// A loss of all records is survived if whoever asks first allows for all others, and so is
// a failover or restore that forgets a raise older than the former max_ttl and skew. So while
// processes have different times, in the first half of a run,
//
//   - nothing is flushed, evicted, wiped or failed back to an old primary (see whole);
//   - deletions spare one of the records that tell how far ahead grants may reach: that of
//     the namespace, those of worker ids, on Redis the keys of marks and owners. Earlier
//     deletions count until the center has noticed them. The field hold, which Redis keeps
//     twice, is deleted with its key only;
//   - replicas lag, and snapshots are old, by at most 1.5 s.
//
// For the second half all processes are restarted with the greatest times. It begins once these are
// on record, and goes back to no older data. The skew that is known after a loss is that of who asks
// first, so clocks keep to the least.
//
// With -chaos.old, every second process that starts runs another version, built by go test -c, on
// the same records. Its harness must understand the orders of this one, and write the same journal.
//
// # Without a center
//
// TestChaos/local does the same to processes that share a directory (package hostseq),
// without servers. Besides the faults of processes:
//
//   - The host's clock steps both ways, at times so far back that no process may start.
//   - All processes are killed at once, and others start with the clock behind.
//   - Slot files are damaged, both while they are held and after their holders were
//     killed, or locked by another program.
//   - Processes cannot open files.
//
// An administrator deletes damaged files as their error asks: when nobody holds them and the
// clock has passed all ids of the worker id. Faults that the Limits of package hostseq exclude
// are left out: files removed while they are held, and a clock set back when they are gone.
//
// # What is checked
//
// Each process keeps a journal of its grants, written before the process learns of them, and
// of the ids it issued, as runs. After the test the journals are merged in the order of ids:
//
//   - No id is in two runs.
//   - Each run lies within a grant that its process had noted before.
//   - Ids rise within a process.
//   - No two grants of one worker id share a millisecond. A grant that was given back ends
//     with the last use reported to the center.
//   - Once the faults have ended, all 16 worker ids are held and in use again.
//
// The report also has two durations: from a loss to the next grant, where nothing else
// was done to the servers meanwhile, and the longest time that a process which had ids
// was without. The second measures a loss only if -chaos.only leaves no other fault and
// -chaos.processes leaves a worker id for each process.
//
// # Numbers
//
// TestChaos/numbers does the same to processes that issue numbers in the other ways: from
// a counter.Counter, prefetched and strict; from segments in PostgreSQL; from a
// dispenser; for times past; and of a gapless series, each in a transaction. They use a
// Redis with a replica, and a PostgreSQL that is killed, hangs and turns read-only, but
// loses nothing, which segments require. Counters also run on Sentinel and on a cluster.
// Each process keeps a journal of what it asked for and got, and when.
//
//   - No number is in two runs, also of a prefetched and a strict Counter of one namespace.
//   - Numbers rise within a process.
//   - In strict order, a number is greater than every number that was returned to any
//     process, prefetched or not, before it was asked for.
//   - An id for a time past lies in the second asked for and has a reserved worker id;
//     otherwise its process ends. The journal numbers these ids by second, and the
//     numbers rise within each second.
//
// After the clock was set back, a Counter needs twice the step to be level with it
// again. Losses wait for that.
//
// # Moving
//
// TestMoving moves a service to more worker ids, to another center or to another database while
// such processes issue ids, by the steps of docs/upgrade.md. No fault is made but that some
// processes are killed.
//
// # Controls
//
// TestControls runs processes that break the protocol in the same harness, and requires
// that duplicates are found.
//
// The package is a module of its own to keep the proxy out of the go.mod that users of
// the library get.
package chaos

// Package hostseq leases worker ids without a server or a table. Use it on a single host, in a
// StatefulSet, or if you assign worker ids, or ranges of them, to hosts yourself. Do not use it
// for replicas that come and go on several hosts: only a center that all of them can reach
// (dbseq, redisseq) keeps their worker ids apart.
//
// New returns a lease.Center, which a worker uses like any other. Config.Source selects how the
// worker id is found:
//
//	explicit  Config.Worker. Unique if no other process has the same number.
//	lock      A free slot of this host, claimed by a lock on a file. Unique among the
//	          processes that share the directory. Also unique among hosts if their
//	          requests have disjoint ranges.
//	hash      A hash of the host's name, /etc/machine-id and the process id. Collisions
//	          are possible.
//
// The default is explicit if Worker is set, and lock otherwise. If the source cannot be used on
// this host, New returns an error. It tries no other source, because two sources could choose the
// same numbers.
//
// # What is on disk
//
// Each worker id has a file in Config.Dir with a record of its use. The holder of the worker id
// locks the file. The kernel releases the lock when the process dies, but not while the process
// is paused. A record is written and synced to disk before any time that it allows is used. So
// the next holder starts above all times used, even if the host's clock is behind. On one host, a
// second process with the same explicit worker id gets an error.
//
//	acquire  lock the file; floor = max(mark, now-1);
//	         mark = ceiling = max(now, floor) + TTL
//	renew    lost unless the file is still the one at its path; mark = ceiling =
//	         max(mark, ceiling, now + TTL)
//	release  mark = last use; unlock
//
// A lease does not expire: the lock is the lease. The ceiling only determines the mark.
//
// now is the host's clock. No id of the worker id has a time above the mark. The mark may be
// ahead of the clock after a crash, or after the clock was set back. Ids then begin above the
// mark, and their times are ahead of the clock until it has caught up. A clock that is behind by
// more than Config.MaxBehind and MaxTTL is an error.
//
// A call waits for the disk, even if its context ends. Ids still stop at the ceiling.
//
// A record that cannot be read is an error and never counts as empty; source lock skips its
// worker id. A power loss during a write leaves the previous record, because a record is one disk
// sector.
//
// A host without files may be new or may have lost its records. Ids then start WithMaxAhead above
// the clock, because a predecessor may have run that far ahead. After a crash, or if the clock
// was set back, the predecessor may have run further: see Limits.
//
// If no files are kept (Config.Stateless), the first borrow of a process waits for WithMaxAhead,
// so that the clock has passed all times that a predecessor used.
//
// # Limits
//
// The following can cause duplicate ids:
//
//   - Files that are deleted while a process holds them. The process detects this at its next
//     renewal, but until its ceiling another process may use the same times.
//   - A directory that is lost, such as in a recreated container, or restored from a backup, if
//     in the last minutes the clock was set back, a process crashed, or a process that had started
//     there used up MaxAhead. A process that starts after a crash is up to a TTL ahead of the
//     clock until the clock has caught up.
//   - Network file systems. Their locks may hold on one host only, or be lost when the server
//     restarts, and nothing detects that. Dir belongs on a local disk.
//   - Processes that are copied with their memory.
//
// # Systems
//
//	Linux, macOS, BSD, illumos  locks by flock
//	Windows                     locks by LockFileEx, on a byte far beyond the record
//	others                      no locks: only explicit and hash, with Stateless
//
// The tests run on Linux, and were run manually for Windows on wine. For macOS and FreeBSD, the
// code is only type-checked.
//
// # Other users of the host
//
// Every directory on the path to Dir must belong to root or to the user of the process. Nobody
// else may be able to write to it, unless it is sticky, as /tmp is. Dir and its files may also
// belong to a user who has a group in common with the process. They may be writable for a group,
// but not for everyone. That group is trusted like the service, because its members can replace
// records and so cause duplicate ids: make it a group of the service's users, not one such as
// users or staff. Anybody who can read a file can hold its lock, and so its worker id. A link in
// Dir is not followed, and a file with a second name (a hard link) is refused.
//
// Windows has access control lists instead, which are not checked. Other users cannot write to
// the default directory; make sure that they cannot write to another one that you choose.
//
// On a file system that ignores case, as on Windows and macOS, namespaces that differ only in
// case share their files, and need the same configuration. Windows does not sync directories, so
// a file that was created just before a power loss may be missing: its worker id then starts as
// on a new host.
package hostseq

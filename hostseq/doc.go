// Package hostseq lends worker ids without a center: nothing to install, no server, no
// table. Use it for one host, for a StatefulSet, or where worker ids are given out by
// hand. Do not use it for replicas that come and go on several hosts without numbers
// of their own: only a center that all of them can reach (dbseq, redisseq) keeps those
// apart.
//
// New returns a lease.Center, so a Keeper, its status and the rule of disjoint ranges
// work as with any other. The worker id comes from the first of Config.Sources that
// there is on this host:
//
//	explicit  Config.Worker. Unique if nobody else is given the number.
//	ordinal   The N of a host name that ends in -N, as in a StatefulSet. Unique
//	          within one set of hosts that are numbered so.
//	lock      A slot of this host, claimed by a lock on a file. Unique among the
//	          processes that share the directory; among hosts by MachineBits of
//	          their addresses, as far as those tell the hosts apart.
//	hash      A hash of the machine and the process id. Unique by luck only.
//
// The default is explicit where Worker is set, else lock. ordinal is never chosen
// unasked: a host name such as ip-10-0-1-23 ends in a number too. Nor is hash. A
// source that there is, and whose worker id cannot be had, is an error: the number of
// another source would be one of another scheme, that the first may give out too.
//
// # What is on disk
//
// Each worker id has a file in Config.Dir, which holds a record of what it was used
// for. Who holds the worker id holds a lock (flock) on the file. The kernel releases it
// when the process dies, and not when it is paused. The record is written, and synced
// to the disk, before the time that it allows is used: so the next holder starts above
// all that was used, though the clock of the host is behind. It also makes a second
// process with the same explicit worker id, or ordinal, an error on one host.
//
//	acquire  lock the file; floor = max(mark, now-1);
//	         mark = ceiling = max(now, floor) + TTL
//	renew    the file is still the one at its path, else lost; mark = ceiling =
//	         max(mark, ceiling, now + TTL)
//	release  mark = last use; unlock
//
// A lease does not expire: the lock is the lease. The ceiling is there for the marks.
//
// now is the clock of the host. If the mark is ahead of it, which is so after a crash
// and after the clock was set back, ids begin above the mark, and carry times ahead of
// the clock until that has caught up. A clock that is behind by more than
// Config.MaxBehind is an error.
//
// A record that cannot be read is an error, never an empty record; source lock passes
// its worker id by. A write that a power loss interrupts leaves the record as it was
// before: it is one sector.
//
// Where there is no file yet, or none is kept (Config.Stateless), nothing tells a new
// host from one that has forgotten. Then ids start WithMaxAhead above the clock, since
// a predecessor may have run so far ahead of it. After a crash, or after the clock was
// set back, it may have run further: see Limits.
//
// # Limits
//
// What is not covered: files that are deleted while a process holds them (its next
// renewal notices, but what it may use until its ceiling can be used by another too);
// a directory that is gone, as that of a container that was made anew, when the clock
// was set back, or within minutes of a crash: who starts after a crash is up to a TTL
// ahead of the clock until that has caught up; file systems whose locks do not work, as some network file
// systems; processes that are copied with their memory. Directories and files that
// everyone may write to are refused, and so are those of a user who is neither root nor
// this one and shares no group with it. Links in the directory are not followed. Where the system has no flock (Windows) there are no records:
// only explicit and ordinal, with Stateless, and hash.
package hostseq

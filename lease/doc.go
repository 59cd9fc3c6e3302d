// Package lease lends snowflake worker ids so that ids stay unique whatever happens to the
// processes that hold them. A Center in front of a store lends worker ids; package
// snowlease, at the root of the module, borrows, renews and gives them back. A lease is not a
// lock: two live processes
// can hold the same worker id. They only never share a millisecond of it.
//
// # The protocol
//
// Every grant of a worker id carries a range (Floor, Ceiling] of milliseconds of the
// center's clock. The center stores the ceiling as the worker's mark before the holder may
// use the range, and the next range starts strictly above the mark. The holder puts only
// times within its range into ids. So ids are unique by value. The expiry of a lease only
// decides how soon a worker id is lent again and how fresh its ids are. TiKV's timestamp
// oracle and CockroachDB's upper bound of the wall time use the same technique.
//
// A namespace has a pool of worker ids, one slot for each. Its members are the processes
// that borrow from it. For each slot, the center records expires, mark, owner, token and
// floor. For each namespace it records
//
//   - the pin: what is known of the members, and what they must agree on (Pin);
//   - the incarnation: the identity of the server that answers, which a restart or a
//     failover changes;
//   - a quarantine: grants at or below this time may have been forgotten.
//
// These are the rules of acquire, renew and release. now is the center's clock.
//
//	pin      A member raises the pin to its MaxTTL and skew. MaxTTL below is that of the pin, or
//	         the former one until the raise has been on record for the former MaxTTL + skew, and
//	         all slots show it. After a loss of the pin, what the slots show counts.
//	         The pin falls to the values of a new member if no member with greater ones has
//	         called since that was on record for the pin's MaxTTL + skew.
//	loss     Each first looks for a loss (dbseq: a renewal only for one that concerns its
//	         own grant): fewer than Pool records of slots or marks, nothing on record,
//	         or an incarnation other than the recorded one.
//	         After a loss: quarantine = max(quarantine, now+MaxTTL+skew), and missing
//	         records are created.
//	acquire  A worker id is free if expires < now and mark < now. The center lends the one
//	         least recently used (dbseq: the one chosen by the ticket, if it is free):
//	         floor = max(mark, quarantine, now-1)
//	         mark = ceiling = max(now+TTL, min(floor+TTL, now+MaxTTL))
//	         expires = now+TTL, and token rises.
//	         While quarantine >= now, ranges begin ahead of the clock: quarantine and mark
//	         only have to be below now+MaxLead. The same owner gets the same grant again,
//	         but need not if it is below a quarantine.
//	renew    The grant is lost unless the owner matches and expires >= now+skew.
//	         If floor < quarantine: floor, mark, token and expires as in acquire.
//	         Otherwise: mark = max(mark, the holder's ceiling, ceiling as in acquire),
//	         expires = max(expires, now+TTL).
//	release  The grant is lost unless owner and token match. mark = lastUsed, clamped to
//	         floor and ceiling. The worker id is free at once and most recently used. Until
//	         it is lent again, acquire answers its former owner with ErrLost.
//
// No ceiling is above the latest time the clock showed + MaxTTL. When a loss is noticed, the
// clock is at most skew behind that time. So every forgotten grant is at or below the
// quarantine, and every later grant is above it. A grant below the quarantine is never
// extended: the time between may have been lent and forgotten too.
//
// # Threats
//
//	a host's clock steps or drifts    only the center's clock and monotonic time count
//	pause between check and use       the check applies to the value of the id
//	holder wakes after expiry         its range is still its own; renewal needs the owner
//	lost or late reply                the same owner gets the recorded grant; renewals only raise marks
//	release by a former holder        owner and token; the mark stays within the range
//	release that arrives late         the next borrow has another owner
//	borrow that arrives late          an owner that has given back is lent nothing
//	center's clock steps back         floors come from marks, not from clocks
//	center's clock far off            refused at acquire, before anything is written
//	store empty, partly empty, stale  the next ranges are above the quarantine
//	failover revives a former owner   its next grant is above the quarantine, or it is lost
//	two layouts in one namespace      the pin
//	more replicas than worker ids     NoFreeWorkerError, never a shared worker id
//
// Not covered:
//   - Two primaries that accept writes at the same time. redisseq.WithWaitReplicas narrows
//     this. The same holds in turns: a failover back to a server that stayed a primary and
//     missed what the other acknowledged.
//   - A loss of records that is noticed while the center's clock is more than skew behind
//     the latest time it showed before: a forgotten mark may be above the quarantine.
//     Without a loss, clock steps are harmless. Note that only a borrow is refused if the
//     clock is far off; a renewal raises its mark to whatever the clock shows.
//   - A process that is cloned with its memory, and issues an id or stops before it calls
//     Worker.Reset of package snowlease, or that is cloned within Worker.Start.
package lease

// Package lease leases snowflake worker ids so that ids stay unique whatever happens to the
// processes that hold them. A Center in front of a store leases worker ids; package snowlease, at
// the root of the module, borrows, renews and releases them. A lease is not a lock: two live
// processes can hold the same worker id, but they never share a millisecond of it.
//
// # The protocol
//
// Every grant of a worker id carries a range (Floor, Ceiling] of milliseconds of the center's
// clock. The center stores the ceiling as the worker's mark before the holder may use the range,
// and the next range starts strictly above the mark. The holder puts only times within its range
// into ids, so ids are unique by value. The expiry of a lease only decides how soon its worker id
// is leased again and how fresh the ids are. TiKV's timestamp oracle and CockroachDB's upper
// bound of the wall time use the same technique.
//
// A namespace has a pool of worker ids, one slot for each. Its members are the processes that
// borrow from it. For each slot, the center records expires, mark, owner, token and floor. For
// each namespace it records
//
//   - the pin: the settings of the members, some of which must agree (Pin);
//   - the incarnation: the identity of the server that answers, which a restart or a
//     failover changes;
//   - a quarantine: grants at or below this time may have been forgotten.
//
// These are the rules of acquire, renew and release. now is the center's clock.
//
//	pin      A member raises the pin to its MaxTTL and skew. MaxTTL below is the pin's, or the
//	         previous one until the raise has been recorded for the previous MaxTTL + skew and
//	         appears in all slots. After a loss of the pin, the values in the slots count.
//	         TTL below is the member's. If the member's skew is less than the pin's, TTL is
//	         longer by the difference, up to MaxTTL. The pin falls, the skew first, to the
//	         values of a new member once they have been recorded for the pin's MaxTTL + skew,
//	         if no member with greater values has called since.
//	loss     Each call first looks for a loss (dbseq: a renewal only for one that concerns
//	         its own grant): fewer than Pool records of slots or marks, no record at all,
//	         or an incarnation other than the recorded one.
//	         After a loss: quarantine = max(quarantine, now+MaxTTL+skew), and missing
//	         records are created.
//	acquire  A worker id is free if expires < now and mark < now. The center leases the one
//	         least recently used (dbseq: the one chosen by the ticket, if it is free):
//	         floor = max(mark, quarantine, now-1)
//	         mark = ceiling = max(now+TTL, min(floor+TTL, now+MaxTTL))
//	         expires = now+TTL, and token rises.
//	         While quarantine >= now, ranges begin ahead of the clock: quarantine and mark
//	         only have to be below now+MaxLead. The same owner gets the same grant again,
//	         although not necessarily one that is below a quarantine.
//	renew    The grant is lost unless the owner matches and expires >= now+skew.
//	         If floor < quarantine: floor, mark, token and expires as in acquire.
//	         Otherwise: mark = max(mark, the holder's ceiling, ceiling as in acquire),
//	         expires = max(expires, now+TTL).
//	release  The grant is lost unless owner and token match. mark = lastUsed, clamped to
//	         floor and ceiling. The worker id is free immediately and most recently used.
//	         Until it is leased again, acquire returns ErrLost to the owner that released it.
//
// No ceiling is later than the latest time of the center's clock + MaxTTL. When the center
// detects a loss, its clock is at most skew behind that time. So every forgotten grant is at or
// below the quarantine, and every later grant is above it. A grant below the quarantine is never
// extended: the time in between may have been leased and forgotten too.
//
// # Threats
//
//	a host's clock steps or drifts    only the center's clock and monotonic time count
//	pause between check and use       the check applies to the value of the id
//	holder wakes after expiry         its range is still its own; renewal needs the owner
//	lost or late reply                the same owner gets the recorded grant; renewals only raise marks
//	release by an earlier holder      owner and token; the mark stays within the range
//	release that arrives late         the next borrow has another owner
//	borrow that arrives late          an owner that has released its grant gets no other
//	center's clock steps back         floors come from marks, not from clocks
//	center's clock far off            refused at acquire, before anything is written
//	store empty, partly empty, stale  the next ranges are above the quarantine
//	failover revives an earlier owner its next grant is above the quarantine, or it is lost
//	two layouts in one namespace      the pin
//	more replicas than worker ids     NoFreeWorkerError, never a shared worker id
//
// Not covered:
//   - Two primaries that accept writes at the same time. redisseq.WithWaitReplicas narrows
//     this. The same holds for a failover back to a server that missed writes that the other
//     one acknowledged, and has neither restarted nor become its replica since.
//   - A loss that is detected while the center's clock is more than skew behind the latest
//     time that it showed before: a forgotten mark may be above the quarantine. Without a
//     loss, clock steps are harmless. If the clock is far off, only a borrow is refused; a
//     renewal raises its mark to whatever the clock shows.
//   - A process that is cloned with its memory and issues an id or stops before it calls
//     Worker.Reset of package snowlease, or that is cloned within Worker.Start.
package lease

// Package lease lends worker ids so that ids stay unique whatever happens to the
// processes that hold them: a Center in front of a store lends; package keeper borrows,
// renews and gives back.
//
// Use it through package idworker in an fx application; use package keeper with a
// Center from dbseq or redisseq and a snowflake.Generator without one. Do not use
// it as a lock: two holders of one worker id can be alive at a time, they only
// never have a millisecond in common.
//
// # The protocol
//
// Every grant of a worker id carries a range (Floor, Ceiling] of the center's
// milliseconds. The center stores the ceiling as the worker's mark before the
// holder may use it, and the next range starts strictly above the mark. The
// holder compares the time that goes into an id with the range. So ids are unique
// by their values; when a lease expires only decides how soon a slot is lent again
// and how fresh ids are. TiKV's timestamp oracle and CockroachDB's upper bound of
// the wall time rest on the same device.
//
// Per worker id the center keeps expires, mark, owner, token and floor; per namespace the
// pin (Request.Pin), the incarnation of the store and a quarantine: the time at or below
// which grants may have been forgotten. now is the center's clock.
//
//	loss     every verb looks first: fewer than Pool records of slots or marks, nothing on
//	         record, or another incarnation of the store than the one on record:
//	         quarantine = max(quarantine, now+MaxTTL+skew); missing records are made anew.
//	acquire  a worker id is free if expires < now and mark < now. The one used longest ago
//	         is taken (dbseq: the one that the ticket falls on, if it is free).
//	         floor = max(mark, quarantine, now-1)
//	         mark = ceiling = max(now+TTL, min(floor+TTL, now+MaxTTL))
//	         expires = now+TTL, token rises.
//	         While quarantine >= now ranges begin ahead of the clock: quarantine and mark
//	         need only lie below now+Ahead. The same owner again: the same grant.
//	renew    the owner matches and expires >= now+skew, or the grant is lost.
//	         If floor < quarantine: floor, mark, token and expires as in acquire.
//	         Otherwise mark = max(mark, the holder's ceiling, ceiling as in acquire),
//	         expires = max(expires, now+TTL).
//	release  owner and token match: mark = lastUsed held within floor and ceiling,
//	         free at once, last in the order of use.
//
// No ceiling is ever above now+MaxTTL, and at a loss the clock is at most skew behind the
// latest time that it ever showed. So all that may have been forgotten lies at or below
// the quarantine, and what is lent afterwards lies above it. A grant from below it is never
// extended, since what lies between may have been lent and forgotten again.
//
// # Threats
//
//	clock of a host steps, drifts     the center's clock and monotonic time only
//	pause between check and use       the range is checked on the value of the id
//	holder wakes after its expiry     its range is its own; renewal needs the owner
//	lost or late reply                the same owner gets what is on record; renewals only raise marks
//	release by a former holder        owner and token; the mark stays within the range
//	center's clock steps back         floors come from marks, not from clocks
//	center's clock far off            refused at acquire, before anything is written
//	store empty, partly empty, stale  the next ranges lie above the quarantine
//	failover revives a former owner   it is lent above the quarantine, or is lost
//	two layouts in one namespace      the pin
//	more replicas than workers        NoFreeWorkerError, never a shared worker id
//
// Not covered:
//   - Two primaries that accept writes (redisseq.WithWaitReplicas narrows that), also in
//     turns: a failover back to one that stayed a primary and got nothing of what the
//     other acknowledged.
//   - A loss of records while the center's clock is more than skew behind the latest
//     time that it ever showed: a mark that was forgotten may lie above the quarantine.
//     Without a loss, its steps are harmless. Only a borrow is refused for a clock that
//     is far off; a renewal raises its mark by whatever the clock shows.
//   - A process that is cloned with its memory and goes on before it calls keeper.Keeper.Reset.
package lease

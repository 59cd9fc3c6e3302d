// Package lease lends worker ids so that ids stay unique whatever happens to the
// processes that hold them: a Center in front of a store lends, a Keeper borrows,
// renews and gives back.
//
// Use it through package idworker in an fx application; use NewKeeper with a
// Center from dbseq or redisseq and a snowflake.Generator without one. Do not use
// it as a lock: two holders of one worker id can be alive at a time, they only
// never have a millisecond in common.
//
// # The protocol
//
// Every grant of a worker id carries a range (Floor, Ceiling] of the centre's
// milliseconds. The centre stores the ceiling as the worker's mark before the
// holder may use it, and the next holder starts strictly above the mark. The
// holder compares the time that goes into an id with the range. So ids are unique
// by their values; when a lease expires only decides how soon a slot is lent again
// and how fresh ids are. TiKV's timestamp oracle and CockroachDB's upper bound of
// the wall time rest on the same device.
//
// Per slot the centre keeps: expires, mark, owner, token, floor; per namespace:
// the pin (Request.Pin), the incarnation of the store, the end of a quarantine.
// now is the centre's clock.
//
//	acquire  free means expires < now and mark < now and First <= worker <= Last
//	         and quarantine < now. The least recently used free slot is taken
//	         (dbseq: the one that the ticket falls on, if it is free).
//	         floor = max(mark, quarantine, now-1), mark = expires = ceiling =
//	         now+TTL, token rises. The same owner again: the same grant.
//	renew    owner and token match and expires >= now+skew: mark =
//	         max(mark, the holder's ceiling, now+TTL), expires =
//	         max(expires, now+TTL). Otherwise the grant is lost.
//	release  owner and token match: mark = lastUsed held within floor and ceiling,
//	         free at once, last in the order of use.
//	loss     every verb looks first: fewer than Pool records of slots or marks, or
//	         another incarnation of the store than the one on record: quarantine =
//	         max(quarantine, now+MaxTTL+skew); missing records are made anew. While
//	         quarantine >= now nothing is lent. Holders on record go on renewing. A
//	         holder that is not may re-take its slot if the record is free
//	         (expires < now) and the ceiling it shows is > now+skew, and, in case
//	         the clock steps back later, which makes a quarantine that is over look
//	         as if it lasted: the ceiling is > quarantine-MaxTTL, so it lay ahead
//	         when the quarantine began, and mark <= quarantine, so nothing was lent
//	         after it: token rises,
//	         mark = max(mark, its ceiling, now+TTL). If the reply is lost, the same
//	         owner with its former token and the same floor renews what it has
//	         re-taken. Any other is told QuarantineError if its ceiling is > now+skew,
//	         else ErrLost.
//
// # Threats
//
//	clock of a host steps, drifts     the centre's clock and monotonic time only
//	pause between check and use       the range is checked on the value of the id
//	holder wakes after its expiry     its range is its own; renewal needs owner and token
//	lost or late reply                the same owner gets the same grant; marks only rise
//	release by a former holder        owner and token; the mark stays within the range
//	centre's clock steps back         floors come from marks, not from clocks
//	centre's clock far off            refused at acquire, before anything is written
//	store empty, partly empty, stale  quarantine of MaxTTL+skew; re-take by live holders
//	failover revives a former owner   renewal only while unexpired by more than the skew
//	two layouts in one namespace      the pin
//	more replicas than workers        NoFreeWorkerError, never a shared worker id
//
// Not covered:
//   - Two primaries that accept writes (redisseq.WithWaitReplicas narrows that), also in
//     turns: a failover back to one that stayed a primary and got nothing of what the
//     other acknowledged.
//   - A loss of records while the centre's clock is more than skew behind the latest
//     time that it ever showed: a mark that was forgotten may lie above the quarantine.
//     Without a loss, its steps are harmless. Only a borrow is refused for a clock that
//     is far off; a renewal raises its mark by whatever the clock shows.
//   - A process that is cloned with its memory and goes on before it calls Keeper.Reset.
package lease

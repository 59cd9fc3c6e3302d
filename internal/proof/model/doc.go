// Package model shows that no order of events makes two holders of a worker id own
// one millisecond: its tests explore every state that package rules can be brought
// to, breadth first, within bounds that they print.
//
// # What is explored
//
// The verbs are those of package rules, the ones that the center in memory runs;
// there is no second copy. Time is some milliseconds long, a TTL 1 to 3 of them.
// From each state every one of these can come next:
//
//   - an acquire, a renewal or a release reaches the center. What was sent once may
//     arrive at any later time and any number of times, also when its holder has
//     long stopped or has a later grant. Renewals of the last two grants that a
//     holder had are on their way at all times.
//   - the reply is heard, or is lost. In one configuration it is on its way as well,
//     and is installed late, against the grant it renewed. A reply that is heard late
//     adds nothing in the others, for a holder that has heard early may do all that
//     one may that has not: its earlier messages are still on their way.
//   - a holder is told that its grant is lost, or stops and gives it back, with any
//     last use at the edges of its range or far outside.
//   - the clock of the center moves on, or steps back.
//   - the store is wiped, loses a lease, a mark, a slot, all owners or the record of
//     the namespace, or fails over to a replica that was in step at any time before.
//
// All that was ever granted to a holder, heard or not, may be used at any later
// time. So pauses, crashes and the clocks of hosts need no steps of their own. Only
// a holder that stops for good gives up what lies above its last use.
//
// # What is checked
//
// After each step: what the holders of one worker may use is disjoint; a mark falls
// only by the release of its owner, and not below the last use; without a loss it
// covers all that was granted; tokens rise; what is lent lies above mark and
// quarantine and ends within the TTL; a renewal keeps worker and floor and lowers no
// ceiling; the first verb after a loss, whichever it is, begins a quarantine.
//
// TestBroken breaks one rule at a time, from outside of package rules, and prints
// the history that then makes a duplicate. It also has what the protocol does not
// cover, so that nobody takes it for covered.
//
// # What is not
//
// Two primaries at once; the isolation of SQL and the atomicity of scripts, which the
// contract of package leasetest looks at; real clocks; more than four borrows, two
// workers or two losses. Liveness. Within these bounds it is evidence, not a proof
// for all sizes.
//
// # How to run it
//
//	go test -v ./internal/proof/model                                    a minute of one core
//	SNOWLEASE_MODEL=full go test -v -timeout 2h ./internal/proof/model   to the end of most, 4 GB
package model
